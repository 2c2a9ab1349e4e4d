"""What the rehearsal model knows about English: a few hundred plain words, no statistics, no test prompts.

Groups say which words mean nearly the same when somebody asks for a tool. A word may stand in several groups.
"""

# ruff: noqa: SIM905, E501  (lists of words read best as text)
from __future__ import annotations

# Words that carry no meaning of their own when a tool is chosen.
STOP = frozenset(
    """a an the this that these those some any each every all both either neither no not of in on at to from by for with
    without into onto over under between among about as than then so if or and but nor is are was were be been being am
    do does did done doing have has had having will would shall should can could may might must let lets let's i me my
    mine we us our you your yours he him his she her hers it its they them their there here what which who whom whose
    when where why how please kindly thanks thank hi hello hey ok okay yes also too just only very much many more most
    such s t re ve ll d m up out off down again same other another own per via upon within during before after since
    until while because through across along around using use used want wants wanted need needs needed like help know
    knows knowing tell say says said go going get gets got give gives given giving make makes made making take takes
    taken new one ones way thing things able based specific certain particular given following provided respectively
    currently right now today e.g eg i.e ie etc into i'm i'd i'll i've what's whats who's where's how's it's that's
    isn't don't doesn't didn't can't won't let's there's you're we're they're me if whether""".split()
)

# Words that say "do your work" and fit nearly every tool: worth little as evidence.
WEAK = frozenset(
    """find calculate compute determine show display return fetch retrieve obtain provide list look check see work
    function tool value values number numbers data information info result results details detail name names type
    types input output parameter parameters user amount total default optional set current system object item items
    example include includes including include whether format string integer float boolean array dict list specify
    specified perform method level several different various possible related able first last next best good great
    generate create process evaluate analyze analyse estimate identify search query request handle manage select
    time times day days year years unit units""".split()
)

# Verbs that open a request; a capital letter at the start of a sentence does not make them a name.
OPENERS = frozenset(
    """add answer apply arrange ask assess begin book bring build buy call cancel change check choose clean clear close
    compare complete compose compute confirm connect convert cook copy count create decide decrease define delete
    describe design determine dim discover display divide do download draw drive email enable encrypt estimate evaluate
    explain explore fetch fill find fit fix forward generate get give google heat help hire identify imagine include
    increase inform insert install invite join keep list load locate lock look lower make map mark measure merge message
    move multiply name navigate need obtain offer open order organize pay perform place plan play please plot post
    predict prepare print prove provide pull purchase put raise rate read recommend record reduce register remind remove
    rename rent reply report request reserve reset retrieve return reverse review run save say scan schedule search see
    select sell send set share ship show simulate solve sort start stop submit subtract suggest sum summarize
    switch take tell text track transfer translate turn update upload use verify view wake warm write weather what
    whats when where which who why how is are can could would should will do does did i i'd i'm im let lets on in at
    for from if given suppose assume after before then also and but or the a an my our your their his her this that
    these those there two three four five six seven eight nine ten one compress recommend lookup google weather task
    today tomorrow monday tuesday wednesday thursday friday saturday sunday average mean median""".split()
)

# Verbs that mean one thing only; where a prompt opens with one, the tool must know it.
VERBS = frozenset(
    """drop destroy kill erase wipe format shut restart reboot lock unlock paint cook bake dance sing jump fix repair hack
    compress archive upload download deploy install uninstall encrypt decrypt summarize rewrite refactor debug delete remove
    rename move copy buy sell pay transfer hire fire marry vote draw knit wash clean vacuum iron halve triple double cube
    read open play send write print approve reject block mute ban follow unfollow subscribe translate cancel insert""".split()
)

# Verbs of tools that change something out there: such a tool is called when its work is said, and as a verb.
ACTS = frozenset(
    """approve book buy cancel clear complete create delete drop enter insert install kick lend lock mark move order
    pause pay place play post publish purchase put remove rename reserve reset return run schedule sell send set share
    ship start stop submit transfer turn update upload write roll flip pick make plot draw unlock""".split()
)

# Somebody who begins a sentence with one of these tells something, unless a wish is in it.
TELLING = frozenset("i i'm i've i'd he she we they my his her our their".split())
WISHES = frozenset(
    """want need like wish wonder wondering look looking plan planning try trying hope hoping love curious interested
    must should would could please let let's help""".split()
)

# Nearly the same, in a request. The first word names the group.
GROUPS: tuple[str, ...] = (
    "weather forecast rain raining rainy snow snowing sunny sun cloudy wind windy temperature umbrella coat jacket outside"
    " warm cold hot humid humidity climate degrees",
    "add plus sum addition total together increase added adding",
    "subtract minus difference subtraction less away deduct take",
    "multiply times product multiplication multiplied",
    "divide divided quotient division over split",
    "power exponent exponentiate raised",
    "square squared",
    "cube cubed",
    "double twice doubled",
    "triple thrice tripled",
    "half halve halved",
    "sqrt root square_root",
    "mean average avg",
    "deviation stddev std spread",
    "email mail e-mail inbox mailbox message messages mails",
    "send mail email message notify forward",
    "calendar event meeting appointment agenda schedule",
    "create make add new schedule register open start put save set arrange plan book build generate remind",
    "cancel remove delete erase drop discard clear",
    "delete remove erase drop discard",
    "search find look lookup query google seek browse discover",
    "read show open view display cat print content contents",
    "write save store put create",
    "list show enumerate display all which",
    "directory folder dir",
    "file document",
    "light lamp lights lamps bulb",
    "thermostat heating temperature heat warm cool heater degrees",
    "music song songs track tracks artist band album tune playlist",
    "play listen start",
    "flight flights fly flying plane airline airfare",
    "origin departure from source start depart departing",
    "destination arrival to target arrive arriving",
    "hotel room accommodation lodging stay motel hostel",
    "book reserve reservation booking",
    "restaurant eatery food eat cuisine",
    "currency money exchange",
    "convert conversion exchange change turn transform many much",
    "price cost costs expensive cheap pricing worth",
    "buy purchase order shop",
    "cart basket",
    "product products catalogue catalog item items article",
    "order package parcel shipment delivery",
    "track where status locate tracking",
    "stock share shares equity ticker",
    "plot chart graph draw histogram visualize visualise diagram",
    "task todo to-do reminder chore",
    "complete done finish finished close mark tick",
    "distance far away",
    "population inhabitants people residents live populous",
    "capital",
    "city town",
    "country nation state",
    "place location where address spot area region",
    "translate translation translated",
    "count number many",
    "reverse backwards backward",
    "summarize summary summarise shorten tldr",
    "contact address_book contacts person",
    "person people individual",
    "phone telephone call mobile number",
    "time clock hour o'clock",
    "timezone zone",
    "news headlines articles article",
    "movie film films movies cinema",
    "book novel books novels",
    "doctor physician dentist",
    "car vehicle automobile",
    "route directions path way navigation drive",
    "random dice roll",
    "area surface",
    "height tall high altitude",
    "length long characters letters",
    "width wide",
    "depth deep",
    "weight heavy mass weigh weighs",
    "speed velocity fast pace",
    "age old years",
    "duration long length minutes hours last",
    "size big large dimension",
    "picture image photo",
    "teacher instructor professor",
    "lawyer attorney",
    "game match",
    "winner won win victory champion",
    "player athlete",
    "score result points",
    "recipe dish cook cooking meal",
    "calorie calories",
    "ingredient ingredients",
    "interest rate",
    "loan mortgage",
    "invest investment",
    "profit gain return",
    "probability chance likelihood odds",
    "law legal legislation act",
    "lawsuit case court litigation",
    "museum gallery",
    "painting artwork painted paint sculpture",
    "concert gig show performance",
    "ticket tickets",
    "sibling brother sister",
    "employee staff worker",
    "company firm business corporation",
    "bank account balance",
    "prime factor factors factorize",
    "gcd greatest common divisor hcf",
    "lcm least common multiple",
    "circumference perimeter",
    "quiet mute silence",
    "brightness dim bright",
    "volume loud loudness",
    "switch turn toggle set power",
    "set adjust change turn put",
    "lock secure",
    "database sql table query",
    "user account profile customer",
    "id number identifier code",
    "text sentence phrase string passage word words",
    "unread new",
    "latest recent newest last",
    "largest biggest greatest maximum max highest",
    "smallest lowest minimum min least",
    "species animal organism",
    "gene genome genetic genetics dna",
    "zodiac horoscope sign star astrology",
    "evolution evolutionary evolve",
    "discover discovery discovered invent invented inventor discoverer",
    "elect election elected vote president",
    "war battle",
    "uppercase upper capitals caps",
    "lowercase lower",
    "pattern matching glob wildcard",
    "sort order rank arrange",
    "clock alarm timer wake",
    "remind reminder alert",
    "air pollution quality aqi",
    "directions route navigate",
    "cafe coffee",
    "park parks garden",
    "traffic congestion",
    "chess checkers",
    "dna sequence",
    "salary wage income pay",
    "tax taxes",
    "monarch king queen ruler emperor sovereign leader reign",
    "history historical historic past",
    "war wars battle conflict",
    "event events happening occasion",
    "emission emissions carbon co2 footprint greenhouse",
    "kitchen recipe cooking measurement teaspoon tablespoon cup",
    "condition conditions weather temperature humidity",
    "villa apartment flat house home property estate condo realestate",
    "buyer purchase sale sell buying selling",
    "nutrition nutritional protein calorie calories carbs fat vitamin",
    "grocery supermarket store shop market walmart",
    "attorney lawyer specialist counsel",
    "law legal divorce attorney criminal civil",
    "scientist physicist chemist biologist mathematician inventor",
    "contribution contrib achievement",
    "discovery discovered invention found",
    "schedule match fixture upcoming",
    "rank ranking standing position",
    "team club squad",
    "league championship tournament cup",
    "cell cellular membrane protein mitochondria biology molecule",
    "binomial toss coin flips heads tails",
    "statistic statistical statistics significance",
    "mix blend combine",
    "drive driving car road",
    "hypotenuse triangle pythagoras",
    "quadratic equation polynomial",
    "derivative differentiate slope gradient",
    "integral integrate integration antiderivative",
    "simulate simulation model",
    "predict prediction forecast project projection future",
    "compare comparison versus difference between larger smaller bigger",
    "define definition meaning dictionary",
    "growth grow increase compound",
    "energy power electricity",
    "force newton physics",
    "store keep save",
    "colour color",
    "decode decrypt",
    "encode encrypt",
    "hospital clinic doctor medical",
    "drug medicine medication pill",
    "student pupil",
    "school university college",
    "course class lesson lessons",
    "birthday birth born",
    "theatre theater play show cinema",
    "trip travel journey tour vacation holiday",
    "near nearby close around local",
    "mileage miles distance driven",
    "wake alarm",
    "lights lamp brightness",
    "cheapest cheap lowest price",
    "expensive dear costly",
)

# Words that are kin to the first, but not to one another: football is a sport, and no tennis.
HUBS: tuple[str, ...] = (
    "arithmetic plus minus times multiplied divided power",
    "calculator plus minus times multiplied divided power",
    "math plus minus times multiplied divided power",
    "language spanish french german english italian japanese chinese portuguese korean",
    "sport football basketball soccer baseball tennis cricket hockey",
    "currency usd eur dollar euro pound yen gbp jpy",
)

# Beginnings and ends of things people say when they point back at a result.
POINTING = frozenset(
    "it that this result results answer them sum product total difference quotient outcome output value".split()
)

RESULTS = POINTING - {"it", "that", "this", "them"}

# What comes right before a value, and the parameters it usually feeds.
PREPOSITIONS: dict[str, frozenset[str]] = {
    "from": frozenset("from origin source start departure begin since sender input initial old first base".split()),
    "to": frozenset(
        "to destination target end arrival until recipient receiver final output new second language".split()
    ),
    "into": frozenset("to target language destination output".split()),
    "matching": frozenset("pattern glob filter regex".split()),
    "in": frozenset(
        "in city timezone location place country region state language area room unit year where currency text".split()
    ),
    "at": frozenset("at location place time start venue rate price address company school restaurant".split()),
    "on": frozenset("on date day platform topic subject device time".split()),
    "by": frozenset(
        "by author artist divisor creator director painter composer factor sort deadline new replacement".split()
    ),
    "for": frozenset(
        "for query topic subject person customer user company city item name duration stock species".split()
    ),
    "of": frozenset("of".split()),
    "about": frozenset("about topic query subject message keyword".split()),
    "with": frozenset("with attendee participant person ingredient include guest new replacement".split()),
    "near": frozenset("near location place city address".split()),
    "between": frozenset("start first from origin source a".split()),
    "and (between)": frozenset("end second to destination target b".split()),
    "under": frozenset("max maximum limit price below budget".split()),
    "below": frozenset("max maximum limit price".split()),
    "over": frozenset("min minimum above period duration".split()),
    "above": frozenset("min minimum".split()),
    "until": frozenset("end until".split()),
    "as": frozenset("as role type name".split()),
    "called": frozenset("name title called".split()),
    "named": frozenset("name title called".split()),
    "titled": frozenset("title name called".split()),
    "entitled": frozenset("title name".split()),
    "saying": frozenset("body message text content".split()),
    "says": frozenset("body message text content".split()),
    "subject": frozenset("subject".split()),
    "due": frozenset("due deadline date".split()),
}

COLORS = frozenset(
    "red green blue yellow orange purple violet pink brown black white gray grey cyan magenta gold silver teal navy".split()
)

TRUE_WORDS = frozenset("yes true on enable enabled include included including with only turn_on activate".split())
FALSE_WORDS = frozenset(
    "no false off disable disabled without exclude excluded excluding not don't skip never deactivate".split()
)

NUMBER_WORDS: dict[str, int] = {
    **{
        w: n
        for n, w in enumerate(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
        )
    },
    **{w: 10 * n for n, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)},
    "dozen": 12,
}
SCALES: dict[str, int] = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 10**12,
}
ORDINALS: dict[str, int] = {
    w: n for n, w in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), start=1)
}

# Units as people write them -> one name. Used to hold a number and a parameter against each other.
UNITS: dict[str, str] = {
    form: forms.split()[0]
    for forms in (
        "meter meters metre metres m", "kilometer kilometers kilometre kilometres km kms", "centimeter centimeters centimetre centimetres cm",
        "millimeter millimeters millimetre millimetres mm", "mile miles mi", "foot feet ft", "inch inches", "yard yards yd",
        "kilogram kilograms kg kilo kilos kgs", "gram grams gramme grammes g", "pound pounds lb lbs", "ounce ounces oz", "ton tons tonne tonnes",
        "second seconds sec secs s", "minute minutes min mins", "hour hours hr hrs h", "day days", "night nights", "week weeks",
        "month months", "year years yr yrs", "celsius centigrade °c c", "fahrenheit °f f", "kelvin k", "degree degrees °",
        "percent percentage %", "dollar dollars usd $ bucks", "euro euros eur €", "pound_sterling gbp £", "yen jpy ¥",
        "liter liters litre litres l", "milliliter milliliters millilitre millilitres ml", "gallon gallons", "newton newtons n", "joule joules j", "watt watts w",
        "volt volts v", "ampere amperes amp amps a", "ohm ohms", "tesla teslas t", "hertz hz", "pascal pascals pa",
        "mole moles mol", "calorie calories kcal", "person people persons guest guests passenger passengers adult adults",
        "word words", "page pages", "bin bins",
        "mph", "kmh km/h kph", "m/s", "m/s^2 m/s2", "coulomb coulombs", "atm atmosphere atmospheres", "acre acres", "square_meter sqm",
        "rupee rupees inr", "lux", "decibel db", "byte bytes",
    )
    for form in forms.split()
}  # fmt: skip
