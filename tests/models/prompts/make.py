import json
def P(t, d=None, **k):
    r={"type":t}
    if d: r["description"]=d
    r.update(k); return r
S=lambda d=None,**k:P("string",d,**k)
I=lambda d=None,**k:P("integer",d,**k)
N=lambda d=None,**k:P("number",d,**k)
B=lambda d=None,**k:P("boolean",d,**k)
def L(items,d=None): return P("array",d,items=items)
def T(name,desc,req=None,**props):
    return {"type":"function","function":{"name":name,"description":desc,"parameters":{"type":"object","properties":props,"required":list(props) if req is None else req}}}
sets={
"weather":[T("get_weather","Current weather for a city.",["city"],city=S("City name"),unit=S("Temperature unit",enum=["celsius","fahrenheit"])),
  T("get_forecast","Weather forecast for the next days.",["city","days"],city=S("City name"),days=I("Number of days ahead",minimum=1,maximum=14)),
  T("get_air_quality","Air quality index of a city.",city=S())],
"arithmetic":[T("add","Add two numbers.",a=N(),b=N()),T("subtract","Subtract b from a.",a=N(),b=N()),T("multiply","Multiply two numbers.",a=N(),b=N()),T("divide","Divide a by b.",a=N(),b=N()),T("square_root","Square root of a number.",x=N())],
"calendar":[T("create_event","Create a calendar event.",["title","date"],title=S("Title of the event"),date=S("Day of the event",format="date"),start_time=S("Start, HH:MM"),duration_minutes=I("Length in minutes"),attendees=L(S(format="email"),"E-mail addresses of those invited")),
  T("list_events","List the events of a day.",date=S("Day to look at",format="date")),T("cancel_event","Cancel an event by its id.",event_id=I("Id of the event"))],
"mail":[T("send_email","Send an e-mail.",["to","body"],to=S("Address of the recipient",format="email"),subject=S("Subject line"),body=S("Text of the message")),
  T("search_email","Search the mailbox.",["query"],query=S("Words to search for"),unread_only=B("Only unread messages")),
  T("count_unread","Count the unread messages in the inbox.")],
"home":[T("set_light","Turn the light in a room on or off.",["room","on"],room=S(enum=["kitchen","living room","bedroom","bathroom"]),on=B("True to switch on"),brightness=I("Percent",minimum=0,maximum=100)),
  T("set_thermostat","Set the target temperature of the heating.",["temperature"],temperature=N("Target in degrees"),unit=S(enum=["C","F"])),
  T("play_music","Play music on the speakers.",["artist"],artist=S("Artist or band"),volume=I("0 to 10"))],
"travel":[T("search_flights","Search flights between two cities.",["origin","destination","date"],origin=S("City of departure"),destination=S("City of arrival"),date=S("Departure date",format="date"),passengers=I("Number of passengers"),cabin=S(enum=["economy","business","first"])),
  T("book_hotel","Book a hotel room.",["city","nights"],city=S(),nights=I("Number of nights"),guests=I("Number of guests"),breakfast=B("Breakfast included")),
  T("convert_currency","Convert an amount of money between currencies.",amount=N(),from_currency=S("ISO code, such as USD"),to_currency=S("ISO code, such as EUR"))],
"files":[T("read_file","Read a text file.",path=S("Path of the file")),T("write_file","Write text to a file.",path=S(),content=S("Text to write")),T("list_directory","List the files in a directory.",path=S()),T("delete_file","Delete a file.",path=S())],
"shop":[T("search_products","Search the product catalogue.",["query"],query=S("What to look for"),max_price=N("Highest price"),category=S(enum=["books","electronics","clothing","toys"])),
  T("add_to_cart","Put a product in the shopping cart.",["product_id"],product_id=S("Product id such as P-1001"),quantity=I()),
  T("track_order","Where an order is now.",order_id=S("Order number"))],
"statistics":[T("mean","Arithmetic mean of a list of numbers.",numbers=L(N())),T("median","Median of a list of numbers.",numbers=L(N())),T("standard_deviation","Standard deviation of a list of numbers.",numbers=L(N())),
  T("plot_histogram","Draw a histogram of a column.",["column"],column=S("Name of the column"),bins=I("Number of bins"))],
"tasks":[T("add_task","Add a task to the to-do list.",["text"],text=S("What is to be done"),due=S("Due date",format="date"),priority=S(enum=["low","medium","high"])),
  T("complete_task","Mark a task as done.",task_id=I()),T("list_tasks","List open tasks.",[],priority=S(enum=["low","medium","high"]))],
"world":[T("convert_units","Convert a value from one unit to another.",value=N(),from_unit=S("Unit such as km, mile, kg, pound"),to_unit=S("Unit to convert to")),
  T("distance_between","Distance between two places in kilometres.",place_a=S(),place_b=S()),T("population","Population of a country.",country=S()),T("capital_city","Capital city of a country.",country=S("Country name"))],
"words":[T("translate","Translate a text into another language.",text=S("Text to translate"),target_language=S("Language to translate into")),T("count_words","Count the words of a text.",text=S()),
  T("reverse_text","Reverse the characters of a text.",text=S()),T("create_contact","Save a contact in the address book.",["name"],name=S("Full name"),phone=S("Phone number"),email=S(format="email"),address=P("object","Postal address",properties={"street":S(),"city":S(),"zip":S("Postal code")}))],
}
def one(*v): return {"one_of":list(v)}
def c(name,**a): return {"name":name,"arguments":a}
H=[
("weather","Is it raining in Lisbon right now?",[c("get_weather",city="Lisbon")]),
("weather","Give me the forecast for Buenos Aires for the next five days.",[c("get_forecast",city="Buenos Aires",days=5)]),
("weather","weather in Oslo and Paris, please, in Fahrenheit",[c("get_weather",city="Oslo",unit="fahrenheit"),c("get_weather",city="Paris",unit="fahrenheit")]),
("weather","Who painted the Mona Lisa?",[]),
("arithmetic","What is 17 plus 25?",[c("add",a=17,b=25)]),
("arithmetic","Take nine away from forty.",[c("subtract",a=40,b=9)]),
("arithmetic","What's 3.5 times -2?",[c("multiply",a=3.5,b=-2)]),
("arithmetic","What is the square root of 144, and what is 90 divided by 6?",[c("square_root",x=144),c("divide",a=90,b=6)]),
("arithmetic","Is 97 a prime number?",[]),
("calendar","Schedule a meeting called 'Budget review' on 2026-12-04 at 14:30 for 45 minutes.",[c("create_event",title="Budget review",date="2026-12-04",start_time="14:30",duration_minutes=45)]),
("calendar","What do I have on tomorrow?",[c("list_events",date="2026-12-01")]),
("calendar","Please cancel event 4711.",[c("cancel_event",event_id=4711)]),
("calendar","Put lunch with Maria in my calendar for next Friday.",[c("create_event",title=one("lunch with Maria","Lunch with Maria"),date=one("2026-12-04","2026-12-11"))]),
("mail","Send an email to ana@example.org saying 'I will be late'.",[c("send_email",to="ana@example.org",body="I will be late")]),
("mail","How many unread messages do I have?",[c("count_unread")]),
("mail","Find unread mails about the quarterly invoice",[c("search_email",query=one("quarterly invoice","the quarterly invoice"),unread_only=True)]),
("mail","What is the capital of Peru?",[]),
("home","Switch off the light in the bedroom.",[c("set_light",room="bedroom",on=False)]),
("home","Turn on the kitchen light at 40 percent and play some Miles Davis.",[c("set_light",room="kitchen",on=True,brightness=40),c("play_music",artist="Miles Davis")]),
("home","Heat the flat to 21.5 degrees.",[c("set_thermostat",temperature=21.5)]),
("home","Lock the front door.",[]),
("travel","Find me a business class flight from Berlin to New York on 3 January 2027 for two passengers.",[c("search_flights",origin="Berlin",destination="New York",date="2027-01-03",passengers=2,cabin="business")]),
("travel","Book a hotel in Kyoto for three nights with breakfast.",[c("book_hotel",city="Kyoto",nights=3,breakfast=True)]),
("travel","How much is 250 USD in EUR?",[c("convert_currency",amount=250,from_currency="USD",to_currency="EUR")]),
("travel","Recommend a good novel for the beach.",[]),
("files","Show me what is in notes/todo.txt",[c("read_file",path="notes/todo.txt")]),
("files","Write 'hello world' to out.txt",[c("write_file",path="out.txt",content="hello world")]),
("files","Remove /tmp/old.log and then list the directory /tmp",[c("delete_file",path="/tmp/old.log"),c("list_directory",path="/tmp")]),
("files","Compress the images folder into a zip archive and upload it.",[]),
("shop","Look for wireless headphones under 80 dollars in electronics",[c("search_products",query="wireless headphones",max_price=80,category="electronics")]),
("shop","Add two of P-1001 to my cart.",[c("add_to_cart",product_id="P-1001",quantity=2)]),
("shop","Where is my order A7731?",[c("track_order",order_id="A7731")]),
("statistics","What is the average of 4, 8, 15, 16, 23 and 42?",[c("mean",numbers=[4,8,15,16,23,42])]),
("statistics","Plot a histogram of the column \"age\" with 20 bins",[c("plot_histogram",column="age",bins=20)]),
("statistics","Compute both the median and the standard deviation of 2, 4, 4, 5",[c("median",numbers=[2,4,4,5]),c("standard_deviation",numbers=[2,4,4,5])]),
("statistics","Fit a logistic regression of churn on age.",[]),
("tasks","Add a high priority task to buy milk, due tomorrow",[c("add_task",text="buy milk",due="2026-12-01",priority="high")]),
("tasks","Task 12 is done.",[c("complete_task",task_id=12)]),
("tasks","What's still open?",[c("list_tasks")]),
("world","How many kilometres are 26.2 miles?",[c("convert_units",value=26.2,from_unit=one("mile","miles"),to_unit=one("km","kilometre","kilometres"))]),
("world","How far is it from Vienna to Prague?",[c("distance_between",place_a="Vienna",place_b="Prague")]),
("world","What are the capitals of France, Japan and Kenya?",[c("capital_city",country="France"),c("capital_city",country="Japan"),c("capital_city",country="Kenya")]),
("world","Who won the football world cup in 1998?",[]),
("words","Translate \"good morning\" into Spanish.",[c("translate",text="good morning",target_language="Spanish")]),
("words","How many words are in 'the quick brown fox'?",[c("count_words",text="the quick brown fox")]),
("words","Save John Smith, john@smith.net, 12 Main Street, Springfield 90210 in my contacts",[c("create_contact",name="John Smith",email="john@smith.net",address={"street":"12 Main Street","city":"Springfield","zip":"90210"})]),
]
def dump(path, rows, head):
    with open(path,"w") as f:
        f.write("[\n"+",\n".join(json.dumps(r,ensure_ascii=False) for r in rows)+"\n]\n")
with open("tool_sets.json","w") as f:
    f.write("{\n"+",\n".join(f' "{k}": [\n'+",\n".join("  "+json.dumps(t,ensure_ascii=False) for t in v)+"\n ]" for k,v in sets.items())+"\n}\n")
dump("held_out.json",[{"tools":s,"prompt":p,"calls":x} for s,p,x in H],"")
print(len(H), len(sets))
