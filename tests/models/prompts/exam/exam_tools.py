"""Tools as notebook users write them: some with good docstrings, some with poor ones, some with none.

One section for each set of `SETS`. They really run, so that a chain needs the true result of its first step.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
import statistics
from typing import Literal

# --- weather ----------------------------------------------------------------------------------------------------------


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Get the current weather for a city.

    Args:
        city: The city to look up.
        unit: Temperature unit.
    """
    return f"{len(city)} °{'C' if unit == 'celsius' else 'F'}, cloudy"


def get_forecast(city: str, days: int = 3) -> list[str]:
    """Weather forecast for the next days."""
    return [f"day {n + 1}: {10 + n} °C" for n in range(days)]


def get_air_quality(city: str) -> int:
    """Air quality index (AQI) of a city."""
    return 40 + len(city)


# --- calculator -------------------------------------------------------------------------------------------------------


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def subtract(a: float, b: float) -> float:
    """Subtract b from a."""
    return a - b


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def divide(a: float, b: float) -> float:
    """Divide a by b."""
    return a / b


def power(base: float, exponent: float) -> float:
    """Raise base to the exponent."""
    return base**exponent


def square_root(x: float) -> float:
    """Square root of a number."""
    return math.sqrt(x)


def double(number: int) -> int:
    """Doubles a number."""
    return number * 2


# --- units ------------------------------------------------------------------------------------------------------------

Length = Literal["km", "m", "cm", "mile", "foot", "inch"]


def convert_length(value: float, from_unit: Length, to_unit: Length) -> float:
    """Convert a length from one unit to another."""
    metres = {"km": 1000, "m": 1, "cm": 0.01, "mile": 1609.344, "foot": 0.3048, "inch": 0.0254}
    return round(value * metres[from_unit] / metres[to_unit], 4)


def convert_temperature(degrees: float, to: Literal["celsius", "fahrenheit"]) -> float:
    """Convert a temperature to the other scale."""
    return round(degrees * 9 / 5 + 32 if to == "fahrenheit" else (degrees - 32) * 5 / 9, 1)


def kg_to_pounds(kg: float) -> float:
    """kilograms -> pounds"""
    return round(kg * 2.20462, 2)


# --- calendar ---------------------------------------------------------------------------------------------------------


def create_event(title: str, day: datetime.date, start: str = "09:00", minutes: int = 60) -> str:
    """Put an event into the calendar.

    Args:
        title: What the event is called.
        day: The day of the event.
        start: Start time as HH:MM.
        minutes: How long it lasts.
    """
    return f"{title} on {day} at {start}"


def list_events(day: datetime.date) -> list[str]:
    """List the events of a day."""
    return [f"09:00 stand-up ({day})"]


def cancel_event(title: str) -> str:
    """Cancel an event by its title."""
    return f"cancelled {title}"


# --- mail -------------------------------------------------------------------------------------------------------------


def send_email(to: str, subject: str, body: str = "") -> str:
    """Send an email."""
    return "sent"


def search_email(query: str, unread_only: bool = False) -> list[str]:
    """Search the mailbox for messages."""
    return [f"1 message about {query}"]


def count_unread() -> int:
    """How many unread messages there are."""
    return 7


# --- todo -------------------------------------------------------------------------------------------------------------


def add_task(text: str, priority: Literal["low", "medium", "high"] = "medium") -> str:
    """Add a task to the todo list."""
    return f"added {text}"


def complete_task(task_id: int) -> str:
    """Mark a task as done."""
    return f"task {task_id} done"


def remove_task(task_id: int) -> str:
    """Remove a task from the list."""
    return f"task {task_id} removed"


def list_tasks(show_done: bool = False) -> list[str]:
    """Show all tasks."""
    return ["1 water the plants", "2 call the bank"]


# --- shop -------------------------------------------------------------------------------------------------------------


def price(item):  # a poor one: no types, hardly a docstring
    """price of item"""
    return 3.5


def check_stock(item: str) -> int:
    """How many of an item are in stock."""
    return 12


def order(item: str, quantity: int = 1, express: bool = False) -> str:
    """Order an item. express: deliver it express."""
    return f"{quantity} x {item} ordered"


def apply_discount(total: float, percent: float) -> float:
    """Apply a discount in percent to a total."""
    return round(total * (1 - percent / 100), 2)


# --- library ----------------------------------------------------------------------------------------------------------


def search_books(author: str | None = None, title: str | None = None, year: int | None = None) -> list[str]:
    """Search the library catalogue by author, title or year."""
    return ["Emma (1815)"]


def lend_book(title: str, member: str) -> str:
    """Lend a book to a member of the library."""
    return f"{title} lent to {member}"


def return_book(title: str) -> str:
    """Take a lent book back."""
    return f"{title} is back"


# --- travel -----------------------------------------------------------------------------------------------------------


class Cabin(enum.Enum):
    ECONOMY = "economy"
    BUSINESS = "business"
    FIRST = "first"


def find_flights(
    origin: str, destination: str, day: datetime.date, passengers: int = 1, cabin: Cabin = Cabin.ECONOMY
) -> list[str]:
    """Find flights between two cities on a day."""
    return [f"TN 100 {origin}-{destination} {day}"]


def find_hotels(city: str, nights: int, stars: int | None = None) -> list[str]:
    """Find hotels in a city."""
    return [f"Hotel {city}, {nights} nights"]


def distance_between(start: str, end: str) -> float:
    """Distance in km between two cities."""
    return 100.0 * abs(len(start) - len(end)) + 50


# --- text -------------------------------------------------------------------------------------------------------------


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def reverse_text(text: str) -> str:
    """Reverse a text."""
    return text[::-1]


def to_upper(text: str) -> str:
    """Turn text into upper case."""
    return text.upper()


def translate(text: str, language: Literal["english", "french", "german", "spanish"]) -> str:
    """Translate a text into another language."""
    return f"({language}) {text}"


def replace_text(text: str, old: str, new: str) -> str:
    """Replace every occurrence of old by new in a text."""
    return text.replace(old, new)


# --- statistics -------------------------------------------------------------------------------------------------------


def mean(numbers: list[float]) -> float:
    """Arithmetic mean (average) of numbers."""
    return statistics.fmean(numbers)


def median(numbers: list[float]) -> float:
    """Median of numbers."""
    return statistics.median(numbers)


def std(values: list[float]) -> float:
    """Standard deviation."""
    return round(statistics.pstdev(values), 4)


def describe_column(frame: str, column: str) -> str:
    """Describe a column of a dataframe.

    Args:
        frame: Name of the dataframe variable.
        column: Name of the column.
    """
    return f"{frame}.{column}: 10 rows"


def plot_histogram(column: str, bins: int = 10) -> str:
    """Plot a histogram of a column."""
    return f"histogram of {column} with {bins} bins"


# --- music ------------------------------------------------------------------------------------------------------------


def play_song(title: str, artist: str | None = None) -> str:
    """Play a song."""
    return f"playing {title}"


def pause_music() -> str:
    """Pause the music."""
    return "paused"


def set_volume(level: int) -> str:
    """Set the volume.

    Args:
        level: 0 to 100
    """
    return f"volume {level}"


def create_playlist(name: str, songs: list[str]) -> str:
    """Create a playlist with songs."""
    return f"{name}: {len(songs)} songs"


# --- home -------------------------------------------------------------------------------------------------------------

Room = Literal["kitchen", "bedroom", "living_room", "bathroom"]


def set_light(room: Room, on: bool, brightness: int | None = None) -> str:
    """Switch the light of a room on or off."""
    return f"light in {room} {'on' if on else 'off'}"


def set_thermostat(room: Room, degrees: float) -> str:
    """Set the temperature of a room."""
    return f"{room}: {degrees} °C"


def lock_door(door: Literal["front", "back", "garage"]) -> str:
    """Lock a door."""
    return f"{door} door locked"


# --- files ------------------------------------------------------------------------------------------------------------


def read_file(path: str) -> str:
    """Read a text file."""
    return "hello world"


def list_files(folder: str, pattern: str = "*") -> list[str]:
    """List the files in a folder."""
    return ["a.csv", "b.csv"]


def fetch_url(url: str) -> str:
    """Fetch a web page."""
    return "<html>"


def http_status(code: int) -> str:
    """Explain an HTTP status code."""
    return f"{code}: Not Found"


# --- grades -----------------------------------------------------------------------------------------------------------

Subject = Literal["math", "physics", "history", "art"]


def get_grade(student: str, subject: Subject) -> float:
    """Look up the grade of a student in a subject."""
    return 2.3


def average_grade(student: str) -> float:
    """The average grade of a student over all subjects."""
    return 2.1


def enter_grade(student: str, subject: Subject, grade: float) -> str:
    """Enter a new grade for a student."""
    return "saved"


def list_students(class_name: str) -> list[str]:
    """Names of the students in a class."""
    return ["Ann", "Ben"]


# --- money ------------------------------------------------------------------------------------------------------------


def convert_currency(amount: float, from_currency: str, to_currency: str) -> float:
    """Convert money from one currency to another.

    Args:
        amount: How much money.
        from_currency: Three-letter code, e.g. USD.
        to_currency: Three-letter code, e.g. EUR.
    """
    return round(amount * 2, 2)


# --- geometry ---------------------------------------------------------------------------------------------------------


def circle_area(radius: float) -> float:
    """Area of a circle."""
    return round(math.pi * radius**2, 2)


def rectangle_area(width: float, height: float) -> float:
    """Area of a rectangle."""
    return width * height


def triangle_area(base: float, height: float) -> float:
    """Area of a triangle."""
    return base * height / 2


def hypotenuse(a: float, b: float) -> float:
    """Length of the hypotenuse of a right triangle with legs a and b."""
    return math.hypot(a, b)


# --- toys: many small ones, hardly described --------------------------------------------------------------------------


def roll_dice(sides: int = 6, count: int = 1) -> list[int]:
    """Roll dice."""
    return [sides] * count


def flip_coin() -> str:
    return "heads"


def random_number(low: int, high: int) -> int:
    """A random number between low and high."""
    return low


def pick_one(items: list[str]) -> str:
    """Pick one of the items at random."""
    return items[0]


def is_prime(n: int) -> bool:
    """Whether n is prime."""
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def factorial(n: int) -> int:
    return math.factorial(n)


def fibonacci(n: int) -> int:
    """n-th Fibonacci number"""
    return n


def to_roman(n: int) -> str:
    """Write a number in Roman numerals."""
    return "X"


def make_password(length: int = 12, symbols: bool = True) -> str:
    """Make a password."""
    return "x" * length


def current_time(timezone: str = "UTC") -> str:
    """The current time in a timezone."""
    return "12:00"


def capital_of(country: str) -> str:
    """Capital of a country."""
    return "Lima"


def population(country: str) -> int:
    """Number of people living in a country."""
    return 1000000


# --- parcels: nested --------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Address:
    street: str
    city: str
    zip_code: str


def ship_parcel(address: Address, weight_kg: float) -> str:
    """Ship a parcel to an address."""
    return f"shipped to {address.city}"


def track_parcel(number: str) -> str:
    """Where a parcel is now. number: tracking number such as TN123456."""
    return "in Hamburg"


# --- the sets ---------------------------------------------------------------------------------------------------------

_BY_THEME = {
    "weather": [get_weather, get_forecast, get_air_quality],
    "calculator": [add, subtract, multiply, divide, power, square_root],
    "units": [convert_length, convert_temperature, kg_to_pounds],
    "calendar": [create_event, list_events, cancel_event],
    "mail": [send_email, search_email, count_unread],
    "todo": [add_task, complete_task, remove_task, list_tasks],
    "shop": [price, check_stock, order, apply_discount],
    "library": [search_books, lend_book, return_book],
    "travel": [find_flights, find_hotels, distance_between],
    "text": [count_words, reverse_text, to_upper, translate, replace_text],
    "statistics": [mean, median, std, describe_column, plot_histogram],
    "music": [play_song, pause_music, set_volume, create_playlist],
    "home": [set_light, set_thermostat, lock_door],
    "files": [read_file, list_files, fetch_url, http_status],
    "grades": [get_grade, average_grade, enter_grade, list_students],
    "geometry": [circle_area, rectangle_area, triangle_area, hypotenuse],
    "parcels": [ship_parcel, track_parcel],
}


def _named(names: str) -> list[object]:
    return [globals()[name] for name in names.split()]


SETS = {
    **_BY_THEME,
    "one": [double],
    "money": [convert_currency],
    "toys": _named(
        "roll_dice flip_coin random_number pick_one is_prime factorial fibonacci to_roman make_password "
        "current_time capital_of population"
    ),
    "lesson": [get_weather, add, multiply, convert_currency, capital_of, count_words],
    "everything": _named(
        "get_weather get_air_quality add multiply divide convert_length create_event send_email add_task "
        "check_stock search_books find_hotels translate mean play_song set_light read_file get_grade "
        "convert_currency circle_area"
    ),
}
