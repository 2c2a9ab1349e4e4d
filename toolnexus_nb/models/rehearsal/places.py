"""Names the rehearsal model recognises without a capital letter: countries, some cities, languages, currencies."""

# ruff: noqa: SIM905, E501  (lists of words read best as text)
from __future__ import annotations

COUNTRIES = frozenset(
    """afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas bahrain bangladesh
    barbados belarus belgium belize benin bhutan bolivia bosnia botswana brazil brunei bulgaria cambodia cameroon canada
    chad chile china colombia congo croatia cuba cyprus czechia denmark dominica ecuador egypt england eritrea estonia
    ethiopia fiji finland france gabon gambia georgia germany ghana greece grenada guatemala guinea guyana haiti honduras
    hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya kuwait laos
    latvia lebanon lesotho liberia libya lithuania luxembourg madagascar malawi malaysia maldives mali malta mauritius
    mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nepal netherlands nicaragua niger nigeria
    norway oman pakistan palestine panama paraguay peru philippines poland portugal qatar romania russia rwanda samoa
    scotland senegal serbia singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan
    tajikistan tanzania thailand togo tonga tunisia turkey uganda ukraine uruguay usa us u.s. u.s uk uzbekistan venezuela
    vietnam wales yemen zambia zimbabwe""".split()
) | frozenset(
    ["united states", "united states of america", "united kingdom", "new zealand", "south africa", "south korea", "north korea",
     "saudi arabia", "sri lanka", "costa rica", "el salvador", "czech republic", "united arab emirates", "ivory coast"]
)  # fmt: skip

STATES = frozenset(
    """alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois
    indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana
    nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia washington wisconsin wyoming
    ontario quebec bavaria queensland victoria""".split()
) | frozenset(["new york", "new jersey", "new mexico", "new hampshire", "north carolina", "south carolina", "north dakota",
               "south dakota", "rhode island", "west virginia", "british columbia"])  # fmt: skip

CITIES = frozenset(
    """amsterdam ankara athens atlanta auckland austin baghdad bangalore bangkok barcelona beijing beirut berlin bogota
    bombay boston brussels bucharest budapest cairo calcutta caracas chennai chicago cologne copenhagen dallas damascus
    delhi denver detroit dhaka doha dubai dublin edinburgh florence frankfurt geneva hamburg hanoi havana helsinki
    honolulu houston istanbul jakarta jerusalem johannesburg kabul karachi kathmandu kiev kyiv kyoto lagos lahore lima
    lisbon liverpool london lyon madrid manchester manila marseille melbourne miami milan minsk montreal moscow mumbai
    munich nairobi naples nice osaka oslo ottawa paris perth philadelphia phoenix portland prague reykjavik riga rome
    rotterdam santiago seattle seoul seville shanghai sofia springfield stockholm sydney taipei tallinn tehran tokyo
    toronto tunis turin vancouver venice vienna vilnius warsaw wellington zagreb zurich""".split()
) | frozenset(
    ["new york", "new york city", "san francisco", "los angeles", "las vegas", "san diego", "san jose", "buenos aires",
     "mexico city", "rio de janeiro", "sao paulo", "cape town", "hong kong", "kuala lumpur", "new delhi", "tel aviv",
     "addis ababa", "abu dhabi", "washington dc", "new orleans", "salt lake city", "st. petersburg"]
)  # fmt: skip

PLACES = COUNTRIES | STATES | CITIES

LANGUAGES = frozenset(
    """arabic bengali bulgarian catalan chinese croatian czech danish dutch english estonian finnish french german greek
    hebrew hindi hungarian icelandic indonesian irish italian japanese korean latin latvian lithuanian malay mandarin
    norwegian persian polish portuguese punjabi romanian russian serbian slovak slovenian spanish swahili swedish tamil
    telugu thai turkish ukrainian urdu vietnamese welsh""".split()
)

# How people say a currency -> its ISO 4217 code.
CURRENCIES: dict[str, str] = {
    form: forms.split()[0].upper()
    for forms in (
        "usd dollar dollars $ buck bucks", "eur euro euros €", "gbp pound pounds sterling £", "jpy yen ¥", "inr rupee rupees ₹",
        "cny yuan renminbi rmb", "chf franc francs", "cad", "aud", "nzd", "sek krona kronor", "nok krone kroner", "dkk",
        "mxn peso pesos", "brl real reais", "rub ruble rubles rouble", "krw won", "try lira", "zar rand", "pln zloty",
        "sgd", "hkd", "thb baht", "czk koruna", "huf forint", "ils shekel shekels", "aed dirham", "btc bitcoin",
    )
    for form in forms.split()
}  # fmt: skip
