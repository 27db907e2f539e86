"""Writes the estates zoo, theatre, courier and bank, and domains.jsonl with questions about them. The expected answers are computed here."""

import json, random, datetime as dt
from collections import Counter, defaultdict

R = random.Random(7)
D = lambda a, b: (
    dt.date.fromisoformat(a) + dt.timedelta(R.randrange((dt.date.fromisoformat(b) - dt.date.fromisoformat(a)).days))
).isoformat()
out = []


def q(e, k, question, exp=None, val=None, tol=0, before=None):
    o = {"estate": e, "kind": k, "question": question, "expected_answer": exp}
    if val is not None:
        o["expected_value"] = val
    if tol:
        o["tolerance"] = tol
    if before:
        o["before"] = before
    out.append(o)


def nid(e, *qs):
    for x in qs:
        q(e, "not_in_data", x)


def cnt(xs, f):
    return sum(1 for x in xs if f(x))


def br(xs, k, f=lambda x: True):
    return dict(Counter(x[k] for x in xs if f(x) and x[k] is not None))


# --- zoo
sp = ["lion", "zebra", "otter", "penguin", "red panda", "giraffe"]
animals = [
    dict(
        animal_id=f"A{i:03}",
        name=R.choice(["Kito", "Luna", "Milo", "Nala", "Otis", "Pia", "Rex", "Suri"]) + f" {i}",
        species=R.choice(sp),
        sex=R.choice(["female", "male"]),
        born_on=D("2008-01-01", "2025-12-31"),
        weight_kg=R.randint(2, 300),
        enclosure=R.choice(["Savanna", "Riverbank", "Ice House", "North Ridge"]),
        sponsors=R.sample(["Nordbank", "Helio AG", "City Water", "Kraus"], R.choice([0, 0, 1, 2, 3])),
        last_weighed=R.choice([None, D("2026-01-01", "2026-11-20")]),
        endangered=R.random() < 0.4,
        diet=R.choice(["herbivore", "carnivore", "omnivore"]),
        grade=R.choice(["A", "B", "C", None]),
    )
    for i in range(60)
]
keepers = [
    dict(
        keeper=R.choice(["Ana", "Bo", "Cem", "Dia", "Eli"]) + " " + R.choice("BKLMT") + f"{i}",
        section=R.choice(["mammals", "birds", "aquarium"]),
        languages=R.sample(["German", "French", "Spanish"], R.randint(1, 3)),
        first_aider=R.random() < 0.3,
        shift=R.choice(["early", "late"]),
        hired=D("2010-01-01", "2025-01-01"),
        weekly_hours=R.choice([20, 30, 40]),
    )
    for i in range(20)
]
deliveries = [
    dict(
        delivery_no=f"D-{i}",
        supplier=R.choice(["Agrimex", "Blumen Hof", "Fischer & Sohn"]),
        goods=R.choice(["hay", "fish", "fruit", "meat"]),
        kilos=R.randint(10, 900),
        arrived_on=D("2025-01-01", "2026-11-01"),
        cost_eur=R.randint(50, 4000),
        invoice_paid=R.random() < 0.7,
        checked_by=R.choice([None, "T. Lindh", "K. Lindh", "M. Osei"]),
    )
    for i in range(70)
]
sections = [
    dict(section=s, first_aiders=n, keepers=k, manager=m)
    for s, n, k, m in [("mammals", 3, 9, "Ruiz"), ("birds", 0, 5, None), ("aquarium", 1, 6, "Chen"), ("reptiles", 0, 2, "Okoro")]
]
json.dump(dict(animals=animals, keepers=keepers, deliveries=deliveries, zoo=dict(sections=sections)), open("zoo.json", "w"))
e = "zoo"
A = animals
q(e, "count", "How many animals are there?", 60)
q(e, "count", "How many lions do we have?", cnt(A, lambda x: x["species"] == "lion"))
q(e, "count", "How many female red pandas are there?", cnt(A, lambda x: x["species"] == "red panda" and x["sex"] == "female"))
q(e, "count", "How many animals are not female lions?", 60 - cnt(A, lambda x: x["species"] == "lion" and x["sex"] == "female"))
q(e, "count", "How many animals are sponsored by Nordbank?", cnt(A, lambda x: "Nordbank" in x["sponsors"]))
q(e, "list", "Which animals are sponsored by Nordbank?", [x["name"] for x in A if "Nordbank" in x["sponsors"]])
q(e, "count", "How many animals have no sponsor?", cnt(A, lambda x: not x["sponsors"]))
q(e, "count", "How many animals have no sponsors?", cnt(A, lambda x: not x["sponsors"]))
nid(
    e,
    "How many animals have three sponsors?",
    "How many animals were weighed twice?",
    "How many keepers speak two languages?",
    "How many keepers are off in May?",
    "Which keepers have the most languages?",
    "How many animals were born in the zoo?",
    "How many animals are pregnant?",
    "How many deliveries arrived late?",
    "How many deliveries were returned?",
    "What is the average age of the animals?",
    "How many deliveries were refused in 2026?",
    "Which animal eats the most?",
    "How many keepers are sick?",
)
q(e, "count", "How many animals were never weighed?", cnt(A, lambda x: x["last_weighed"] is None))
q(e, "count", "How many animals have grade A or no grade?", cnt(A, lambda x: x["grade"] in ("A", None)))
q(e, "count", "How many animals have grade A or B?", cnt(A, lambda x: x["grade"] in ("A", "B")))
q(e, "count", "How many animals weigh between 50 and 100 kg?", cnt(A, lambda x: 50 <= x["weight_kg"] <= 100))
q(e, "count", "How many animals weigh 100 to 200 kg?", cnt(A, lambda x: 100 <= x["weight_kg"] <= 200))
q(e, "count", "How many animals weigh < 10 or > 280 kg?", cnt(A, lambda x: x["weight_kg"] < 10 or x["weight_kg"] > 280))
q(e, "count", "How many animals weigh at least 250 kg?", cnt(A, lambda x: x["weight_kg"] >= 250))
q(e, "count", "How many animals weigh no more than 20 kg?", cnt(A, lambda x: x["weight_kg"] <= 20))
q(e, "count", "How many animals were born before 2015?", cnt(A, lambda x: x["born_on"] < "2015"))
q(e, "count", "How many animals were born in 2020?", cnt(A, lambda x: x["born_on"][:4] == "2020"))
q(e, "count", "How many zebras were born after 2016?", cnt(A, lambda x: x["species"] == "zebra" and x["born_on"] >= "2017"))
q(
    e,
    "count",
    "How many otters or penguins live in the Savanna?",
    cnt(A, lambda x: x["species"] in ("otter", "penguin") and x["enclosure"] == "Savanna"),
)
q(e, "count", "How many endangered carnivores are there?", cnt(A, lambda x: x["endangered"] and x["diet"] == "carnivore"))
q(e, "count", "How many animals are not endangered?", cnt(A, lambda x: not x["endangered"]))
q(e, "breakdown", "Animals per species", br(A, "species"))
q(e, "breakdown", "How many animals are in each enclosure?", br(A, "enclosure"))
q(e, "breakdown", "Endangered animals by enclosure", br(A, "enclosure", lambda x: x["endangered"]))
c = Counter(x["species"] for x in A).most_common()
q(e, "top", "Which species has the most animals?", [c[0][0]], c[0][1])
q(e, "top", "Which species has the fewest animals?", [c[-1][0]], c[-1][1])
h = sorted(A, key=lambda x: -x["weight_kg"])
q(e, "top", "What is the heaviest animal?", [h[0]["name"]], h[0]["weight_kg"])
q(e, "top", "Which animal is the second heaviest?", [h[1]["name"]], h[1]["weight_kg"])
q(
    e,
    "top",
    "Which lion is the heaviest?",
    [[x for x in h if x["species"] == "lion"][0]["name"]],
    [x for x in h if x["species"] == "lion"][0]["weight_kg"],
)
q(
    e,
    "number",
    "What is the average weight of the giraffes?",
    sum(x["weight_kg"] for x in A if x["species"] == "giraffe") / max(1, cnt(A, lambda x: x["species"] == "giraffe")),
    tol=0.01,
)
q(e, "share", "What percentage of the animals is endangered?", 100 * cnt(A, lambda x: x["endangered"]) / 60, tol=0.1)
q(
    e,
    "share",
    "What share of the lions is female?",
    100 * cnt(A, lambda x: x["species"] == "lion" and x["sex"] == "female") / cnt(A, lambda x: x["species"] == "lion"),
    tol=0.1,
)
q(
    e,
    "yesno",
    "Are there any male otters in the Ice House?",
    "yes" if cnt(A, lambda x: x["species"] == "otter" and x["sex"] == "male" and x["enclosure"] == "Ice House") else "no",
)
q(e, "yesno", "Are all penguins in the Ice House?", "no")
q(e, "count", "How many keepers speak French?", cnt(keepers, lambda x: "French" in x["languages"]))
q(
    e,
    "count",
    "How many keepers speak both German and French?",
    cnt(keepers, lambda x: "French" in x["languages"] and "German" in x["languages"]),
)
q(e, "count", "How many keepers are first aiders?", cnt(keepers, lambda x: x["first_aider"]))
q(e, "list", "Which section has no first aiders?", ["birds", "reptiles"])
q(e, "list", "Which sections have no manager?", ["birds"])
q(e, "count", "How many keepers work the early shift?", cnt(keepers, lambda x: x["shift"] == "early"))
q(e, "count", "How many keepers were hired before 2015?", cnt(keepers, lambda x: x["hired"] < "2015"))
DL = deliveries
q(e, "count", "How many deliveries were there in May 2026?", cnt(DL, lambda x: x["arrived_on"][:7] == "2026-05"))
nid(e, "How many deliveries were there in May?")
q(e, "count", "How many deliveries arrived between May and July 2026?", cnt(DL, lambda x: "2026-05" <= x["arrived_on"] < "2026-08"))
q(e, "count", "How many hay deliveries were checked by T. Lindh?", cnt(DL, lambda x: x["goods"] == "hay" and x["checked_by"] == "T. Lindh"))
nid(e, "How many deliveries did Lindh check?")
q(e, "count", "How many deliveries were not checked?", cnt(DL, lambda x: x["checked_by"] is None))
q(e, "count", "How many deliveries came from Agrimex?", cnt(DL, lambda x: x["supplier"] == "Agrimex"))
q(
    e,
    "count",
    "How many deliveries from Agrimex cost more than 1000 euros?",
    cnt(DL, lambda x: x["supplier"] == "Agrimex" and x["cost_eur"] > 1000),
)
q(e, "number", "How many kilos of fish were delivered?", sum(x["kilos"] for x in DL if x["goods"] == "fish"))
q(e, "number", "What did all deliveries from Blumen Hof cost?", sum(x["cost_eur"] for x in DL if x["supplier"] == "Blumen Hof"))
q(e, "count", "How many invoices are unpaid?", cnt(DL, lambda x: not x["invoice_paid"]))
q(e, "count", "How many deliveries have an unpaid invoice?", cnt(DL, lambda x: not x["invoice_paid"]))
q(e, "breakdown", "Total kilos per goods", {g: sum(x["kilos"] for x in DL if x["goods"] == g) for g in ["hay", "fish", "fruit", "meat"]})
q(
    e,
    "number",
    "Median cost of the meat deliveries",
    sorted([x["cost_eur"] for x in DL if x["goods"] == "meat"])[len([1 for x in DL if x["goods"] == "meat"]) // 2],
    tol=400,
)
q(e, "distinct", "How many different suppliers deliver fruit?", len({x["supplier"] for x in DL if x["goods"] == "fruit"}))
q(e, "count", "How many deliveries were neither hay nor fish?", cnt(DL, lambda x: x["goods"] not in ("hay", "fish")))
# --- theatre
perf = [
    dict(
        id=f"P{i}",
        play=R.choice(["Hamlet", "The Seagull", "Faust", "Macbeth"]),
        venue=R.choice(["Grand", "Arena", "Studio"]),
        date=D("2026-01-01", "2026-12-30"),
        tickets_sold=R.randint(20, 500),
        tickets_available=R.randint(100, 500),
        revenue_eur=R.randint(500, 20000),
        director=R.choice(["S. Berg", "A. Moreau"]),
        cancelled=R.random() < 0.12,
        language=R.choice(["English", "German"]),
        surtitles=R.choice(["English", "French", None]),
    )
    for i in range(80)
]
venues = [
    dict(name=n, seats=s, city=c, wheelchair_places=w, opened_year=y, bar=b)
    for n, s, c, w, y, b in [
        ("Grand", 900, "Oslo", 12, 1899, True),
        ("Arena", 650, "Bergen", 8, 1987, False),
        ("Studio", 120, "Oslo", 2, 2011, True),
    ]
]
actors = [
    dict(
        actor=f"{n}",
        age=R.randint(20, 70),
        contract_until=D("2026-01-01", "2029-01-01"),
        salary_eur=R.randint(2000, 6000),
        ensemble=R.choice(["drama", "opera", "dance"]),
        nationality=R.choice(["Norwegian", "Swedish", "Danish"]),
        understudy=R.choice([None, "Ida Holm", "Jon Vik"]),
    )
    for n in [
        "Ida Holm",
        "Jon Vik",
        "Kari Moe",
        "Lars Lie",
        "Mona Aas",
        "Nils Dahl",
        "Ola Ek",
        "Per Berg",
        "Rut Lund",
        "Siv Ness",
        "Tor Hauge",
        "Una Foss",
    ]
]
json.dump(dict(season=dict(performances=perf), venues=venues, actors=actors), open("theatre.json", "w"))
e = "theatre"
P = perf
q(e, "yesno", "Is the Grand bigger than the Arena?", "yes")
q(e, "yesno", "Does the Arena have more seats than the Grand?", "no")
nid(
    e,
    "Which performances sold out?",
    "How many performances sold out?",
    "Which actors are ill?",
    "How many tickets were refunded?",
    "How many performances were postponed?",
    "Which actor plays Hamlet?",
    "How many rehearsals are there?",
    "How many actors retired?",
    "Which venue is the loudest?",
    "How many performances were well attended?",
)
q(e, "count", "How many performances were never cancelled?", cnt(P, lambda x: not x["cancelled"]))
q(e, "count", "How many performances were cancelled?", cnt(P, lambda x: x["cancelled"]))
q(e, "count", "How many performances of Hamlet are there?", cnt(P, lambda x: x["play"] == "Hamlet"))
q(
    e,
    "count",
    "How many performances of The Seagull at the Grand were cancelled?",
    cnt(P, lambda x: x["play"] == "The Seagull" and x["venue"] == "Grand" and x["cancelled"]),
)
q(e, "count", "How many performances are there in May 2026?", cnt(P, lambda x: x["date"][:7] == "2026-05"))
q(e, "count", "How many performances are there in May?", cnt(P, lambda x: x["date"][:7] == "2026-05"))
q(e, "count", "How many performances take place before March 2026?", cnt(P, lambda x: x["date"] < "2026-03"))
q(
    e,
    "count",
    "How many performances are there between 1 May and 15 June 2026?",
    cnt(P, lambda x: "2026-05-01" <= x["date"] <= "2026-06-15"),
)
q(e, "count", "How many performances sold more than 300 tickets?", cnt(P, lambda x: x["tickets_sold"] > 300))
q(e, "count", "How many performances sold more tickets than available?", cnt(P, lambda x: x["tickets_sold"] > x["tickets_available"]))
q(
    e,
    "count",
    "In how many performances did the tickets sold exceed the tickets available?",
    cnt(P, lambda x: x["tickets_sold"] > x["tickets_available"]),
)
q(
    e,
    "number",
    "What is the ratio of tickets sold to tickets available?",
    sum(x["tickets_sold"] for x in P) / sum(x["tickets_available"] for x in P),
    tol=0.01,
)
q(e, "number", "What is the total revenue of Faust?", sum(x["revenue_eur"] for x in P if x["play"] == "Faust"))
q(e, "breakdown", "Revenue per venue", {v: sum(x["revenue_eur"] for x in P if x["venue"] == v) for v in ["Grand", "Arena", "Studio"]})
q(e, "count", "How many performances are directed by A. Moreau?", cnt(P, lambda x: x["director"] == "A. Moreau"))
q(e, "count", "How many performances did Berg direct?", cnt(P, lambda x: x["director"] == "S. Berg"))
q(e, "count", "How many performances are in English?", None)
q(e, "count", "How many performances have English surtitles?", cnt(P, lambda x: x["surtitles"] == "English"))
q(e, "count", "How many performances have no surtitles?", cnt(P, lambda x: x["surtitles"] is None))
q(
    e,
    "count",
    "How many German performances have French surtitles?",
    cnt(P, lambda x: x["language"] == "German" and x["surtitles"] == "French"),
)
q(e, "top", "Which venue has the most seats?", ["Grand"], 900)
q(e, "top", "What is the largest venue?", ["Grand"], 900)
q(e, "top", "What is the smallest venue?", ["Studio"], 120)
q(e, "top", "What is the second largest venue?", ["Arena"], 650)
q(e, "top", "Which venue is the oldest?", ["Grand"], 1899)
q(e, "list", "Which venues have a bar?", ["Grand", "Studio"])
q(e, "list", "Which venues are in Oslo?", ["Grand", "Studio"])
q(e, "list", "Which venues were opened before 1990?", ["Grand", "Arena"])
q(e, "number", "How many seats does the Arena have?", 650)
q(e, "number", "How many seats are there in Oslo?", 1020)
q(e, "number", "How many wheelchair places are there in total?", 22)
ac = sorted(actors, key=lambda x: x["age"])
q(e, "top", "Who is the oldest actor?", [x["actor"] for x in ac if x["age"] == ac[-1]["age"]], ac[-1]["age"])
q(e, "top", "Who is the youngest actor?", [x["actor"] for x in ac if x["age"] == ac[0]["age"]], ac[0]["age"])
q(e, "count", "How many actors are older than 40?", cnt(actors, lambda x: x["age"] > 40))
q(
    e,
    "count",
    "How many Swedish actors earn a salary above 4000?",
    cnt(actors, lambda x: x["nationality"] == "Swedish" and x["salary_eur"] > 4000),
)
q(
    e,
    "number",
    "What is the average salary of the opera ensemble?",
    sum(x["salary_eur"] for x in actors if x["ensemble"] == "opera") / max(1, cnt(actors, lambda x: x["ensemble"] == "opera")),
    tol=0.01,
)
q(e, "count", "How many contracts end before 2028?", cnt(actors, lambda x: x["contract_until"] < "2028"))
q(e, "list", "Which actors have an understudy?", [x["actor"] for x in actors if x["understudy"]])
q(e, "count", "How many actors are called Ida Holm?", 1)
q(
    e,
    "yesno",
    "Is there a performance of Macbeth in the Studio?",
    "yes" if cnt(P, lambda x: x["play"] == "Macbeth" and x["venue"] == "Studio") else "no",
)
q(e, "yesno", "Do all venues have a bar?", "no")
q(e, "compare", "Are there more performances of Hamlet or of Faust?", None)
q(
    e,
    "share",
    "What percentage of the performances at the Arena was cancelled?",
    100 * cnt(P, lambda x: x["venue"] == "Arena" and x["cancelled"]) / cnt(P, lambda x: x["venue"] == "Arena"),
    tol=0.1,
)
# --- courier
st = ["in transit", "delivered", "returned", "lost"]
par = [
    dict(
        tracking=f"CX{i:05}",
        status=R.choice(st),
        origin=R.choice(["us-east-1", "us-west-2", "eu-north-1"]),
        destination=R.choice(["us-east-1", "us-west-2", "eu-north-1"]),
        weight_g=R.randint(50, 9000),
        declared_value_usd=R.randint(0, 2000),
        fragile=R.random() < 0.2,
        signature=R.choice(["required", "not required"]),
        sender=dict(name=R.choice(["Acme Ltd", "Borealis", "Cobalt Inc"]), country=R.choice(["Norway", "France"])),
        shipped=R.choice([(dt.datetime(2026, 1, 1) + dt.timedelta(hours=R.randrange(7000))).strftime("%a, %d %b %Y %H:%M:%S GMT")]),
        delivered_at=R.choice([None, D("2026-02-01", "2026-11-01")]),
        attempts=R.randint(0, 3),
        van=R.choice(["VAN-1", "VAN-2", "VAN-12", None]),
    )
    for i in range(90)
]
vans = [
    dict(
        van=f"VAN-{i}",
        plate=f"AB{i}XY",
        capacity_kg=R.choice([800, 1200, 1500]),
        load_kg=R.randint(100, 1400),
        driver=R.choice(["Jo Park", "Li Wei", "Sam Roe"]),
        electric=R.random() < 0.5,
        odometer_km=R.randint(1000, 90000),
        range_km=R.choice([220, 300, None]),
        next_inspection=D("2026-06-01", "2028-01-01"),
    )
    for i in range(1, 15)
]
depots = [
    dict(code=c, city=t, docks=d, staff=s, open_sunday=o, area_m2=a)
    for c, t, d, s, o, a in [
        ("us-east-1", "Boston", 12, 40, True, 3000),
        ("us-west-2", "Portland", 9, 31, False, 2500),
        ("eu-north-1", "Oslo", 5, 18, False, 1800),
    ]
]
json.dump(dict(parcels=par, fleet=dict(vans=vans), depots=depots), open("courier.json", "w"))
e = "courier"
q(e, "count", "How many parcels are lost?", cnt(par, lambda x: x["status"] == "lost"))
q(e, "count", "How many parcels are in transit?", cnt(par, lambda x: x["status"] == "in transit"))
q(e, "count", "How many parcels go to us-east-1 or us-west-2?", cnt(par, lambda x: x["destination"] in ("us-east-1", "us-west-2")))
q(
    e,
    "count",
    "How many parcels went from us-east-1 to eu-north-1?",
    cnt(par, lambda x: x["origin"] == "us-east-1" and x["destination"] == "eu-north-1"),
)
q(e, "count", "How many parcels are from Acme Ltd?", cnt(par, lambda x: x["sender"]["name"] == "Acme Ltd"))
q(e, "count", "How many fragile parcels were returned?", cnt(par, lambda x: x["fragile"] and x["status"] == "returned"))
q(e, "count", "How many parcels were shipped in May 2026?", cnt(par, lambda x: " May 2026" in x["shipped"]))
q(
    e,
    "count",
    "How many parcels were shipped before 1 March 2026?",
    cnt(par, lambda x: dt.datetime.strptime(x["shipped"], "%a, %d %b %Y %H:%M:%S GMT") < dt.datetime(2026, 3, 1)),
)
q(e, "count", "How many parcels have more than one attempt?", cnt(par, lambda x: x["attempts"] > 1))
q(e, "count", "How many parcels had exactly 2 attempts?", cnt(par, lambda x: x["attempts"] == 2))
q(e, "count", "How many parcels have no attempts?", cnt(par, lambda x: x["attempts"] == 0))
q(e, "count", "How many parcels have no van?", cnt(par, lambda x: x["van"] is None))
q(e, "count", "How many parcels are on VAN-1?", cnt(par, lambda x: x["van"] == "VAN-1"))
q(e, "count", "How many parcels weigh more than 5000 g?", cnt(par, lambda x: x["weight_g"] > 5000))
nid(
    e,
    "How many parcels weigh more than 5 kg?",
    "How many parcels were damaged?",
    "Which parcels are late?",
    "How many parcels were insured?",
    "How many parcels are at customs?",
    "How many vans broke down?",
    "How many parcels were sent to Oslo by air?",
    "How many stamps were sold?",
    "How many parcels were delivered on time?",
    "How many parcels are from us-east-1 only twice?",
    "How many express parcels are there?",
)
q(e, "count", "How many tracking numbers start with CX0001?", 10)
q(e, "count", "How many parcels require a signature?", cnt(par, lambda x: x["signature"] == "required"))
q(e, "breakdown", "Parcels by status", br(par, "status"))
q(e, "breakdown", "Lost parcels per sender", dict(Counter(x["sender"]["name"] for x in par if x["status"] == "lost")))
q(e, "count", "How many vans are electric?", cnt(vans, lambda x: x["electric"]))
q(e, "list", "Which vans are not electric?", [x["van"] for x in vans if not x["electric"]])
q(
    e,
    "count",
    "How many vans are overloaded, i.e. have a load greater than their capacity?",
    cnt(vans, lambda x: x["load_kg"] > x["capacity_kg"]),
)
q(e, "count", "How many vans carry more load than their capacity?", cnt(vans, lambda x: x["load_kg"] > x["capacity_kg"]))
q(
    e,
    "number",
    "What is the difference between the total capacity and the total load of the vans?",
    sum(x["capacity_kg"] - x["load_kg"] for x in vans),
)
q(e, "number", "What is the highest odometer reading?", max(x["odometer_km"] for x in vans))
q(e, "count", "How many vans have no range?", cnt(vans, lambda x: x["range_km"] is None))
q(e, "count", "How many vans does Li Wei drive?", cnt(vans, lambda x: x["driver"] == "Li Wei"))
q(e, "count", "How many vans are due for inspection before 2027?", cnt(vans, lambda x: x["next_inspection"] < "2027"))
q(e, "top", "Which driver has the most vans?", None)
q(e, "top", "Which depot has the most docks?", ["us-east-1"], 12)
q(e, "list", "Which depots are open on Sunday?", ["us-east-1"])
q(e, "yesno", "Is the Boston depot bigger than the Oslo depot?", "yes")
q(e, "number", "How many staff work in Portland?", 31)
q(
    e,
    "number",
    "What is the average declared value of parcels from Norway?",
    sum(x["declared_value_usd"] for x in par if x["sender"]["country"] == "Norway")
    / cnt(par, lambda x: x["sender"]["country"] == "Norway"),
    tol=0.01,
)
q(e, "share", "What share of the parcels has been delivered?", 100 * cnt(par, lambda x: x["status"] == "delivered") / 90, tol=0.1)
q(e, "count", "How many parcels are not lost and not fragile?", cnt(par, lambda x: x["status"] != "lost" and not x["fragile"]))
q(e, "count", "How many parcels are lost or returned?", cnt(par, lambda x: x["status"] in ("lost", "returned")))
q(e, "count", "How many parcels are lost or fragile?", cnt(par, lambda x: x["status"] == "lost" or x["fragile"]))
q(
    e,
    "count",
    "How many Borealis parcels are lost or fragile?",
    cnt(par, lambda x: x["sender"]["name"] == "Borealis" and (x["status"] == "lost" or x["fragile"])),
)
q(e, "count", "How many parcels are neither lost nor returned?", cnt(par, lambda x: x["status"] not in ("lost", "returned")))
# --- farm/bank
acc = [
    dict(
        iban=f"NO{i:04}",
        owner=R.choice(["Ida Holm", "Jon Vik", "Nordic Fish AS"]),
        type=R.choice(["savings", "current", "loan"]),
        balance=R.randint(-500, 90000),
        currency=R.choice(["EUR", "USD", "NOK"]),
        opened=R.choice(["2019-03-04", "2021-07-09", "2024-01-30", "2026-05-06"]),
        branch=R.choice(["Main Street", "Harbour", "Old Town"]),
        frozen=R.random() < 0.15,
        risk=R.choice(["low", "medium", "high"]),
        interest_rate_percent=R.choice([0, 0.5, 1.25]),
        overdraft_limit=R.choice([0, 0, 500, 1000]),
        cards=R.randint(0, 4),
    )
    for i in range(75)
]
tr = [
    dict(
        tx=f"T{i}",
        iban=R.choice(acc)["iban"],
        amount=R.randint(1, 5000),
        kind=R.choice(["transfer", "cash withdrawal", "card payment", "cash deposit"]),
        booked=D("2026-01-01", "2026-11-20"),
        flagged=R.random() < 0.1,
        country=R.choice(["NO", "SE", "US"]),
        reviewer=R.choice(["m.olsen", "k.dahl", None]),
    )
    for i in range(140)
]
json.dump(dict(accounts=acc, transactions=tr), open("bank.json", "w"))
e = "bank"
q(e, "count", "How many savings accounts are there?", cnt(acc, lambda x: x["type"] == "savings"))
q(e, "count", "How many accounts are frozen?", cnt(acc, lambda x: x["frozen"]))
q(e, "count", "How many high risk accounts are there?", cnt(acc, lambda x: x["risk"] == "high"))
q(e, "count", "How many accounts have a negative balance?", None)
q(e, "count", "How many accounts have a balance below 0?", cnt(acc, lambda x: x["balance"] < 0))
q(e, "count", "How many accounts have a balance below -100?", cnt(acc, lambda x: x["balance"] < -100))
q(e, "count", "How many accounts were opened on 2021-07-09?", cnt(acc, lambda x: x["opened"] == "2021-07-09"))
q(e, "count", "How many accounts were opened in May 2026?", cnt(acc, lambda x: x["opened"] == "2026-05-06"))
q(e, "count", "How many accounts were opened since 2021?", cnt(acc, lambda x: x["opened"] >= "2021"))
q(e, "count", "How many accounts were opened before or after 2021?", None)
q(e, "number", "What is the total balance of the EUR accounts?", sum(x["balance"] for x in acc if x["currency"] == "EUR"))
q(
    e,
    "number",
    "What is the average balance of savings accounts at the Harbour branch?",
    (lambda z: sum(z) / len(z))([x["balance"] for x in acc if x["type"] == "savings" and x["branch"] == "Harbour"]),
    tol=0.01,
)
q(e, "breakdown", "Accounts by type and currency", None)
q(e, "breakdown", "How many accounts are there per branch?", br(acc, "branch"))
q(e, "breakdown", "Average balance per branch", None)
q(e, "count", "How many accounts have an overdraft limit?", None)
q(e, "count", "How many accounts have no overdraft limit?", cnt(acc, lambda x: x["overdraft_limit"] == 0))
q(e, "count", "How many accounts have more than 2 cards?", cnt(acc, lambda x: x["cards"] > 2))
q(e, "count", "How many accounts have one card?", cnt(acc, lambda x: x["cards"] == 1))
q(e, "count", "How many accounts have two cards?", cnt(acc, lambda x: x["cards"] == 2))
q(e, "number", "How many cards do the loan accounts have?", sum(x["cards"] for x in acc if x["type"] == "loan"))
q(e, "count", "How many cash withdrawals were flagged?", cnt(tr, lambda x: x["kind"] == "cash withdrawal" and x["flagged"]))
q(e, "count", "How many cash transactions are there?", cnt(tr, lambda x: x["kind"].startswith("cash")))
q(
    e,
    "number",
    "What is the total amount of card payments in August 2026?",
    sum(x["amount"] for x in tr if x["kind"] == "card payment" and x["booked"][:7] == "2026-08"),
)
q(e, "count", "How many transactions were booked between 2026-03-01 and 2026-03-31?", cnt(tr, lambda x: x["booked"][:7] == "2026-03"))
q(
    e,
    "count",
    "How many transactions from the US were reviewed by k.dahl?",
    cnt(tr, lambda x: x["country"] == "US" and x["reviewer"] == "k.dahl"),
)
q(e, "count", "How many transactions have no reviewer?", cnt(tr, lambda x: x["reviewer"] is None))
q(e, "top", "What is the most common kind of transaction?", None)
q(e, "top", "Which owner has the highest total balance?", None)
q(e, "count", "How many accounts does Ida Holm own?", cnt(acc, lambda x: x["owner"] == "Ida Holm"))
q(e, "count", "How many of the accounts owned by Jon Vik are frozen?", cnt(acc, lambda x: x["owner"] == "Jon Vik" and x["frozen"]))
q(e, "share", "What percentage of transactions is flagged?", 100 * cnt(tr, lambda x: x["flagged"]) / 140, tol=0.1)
q(
    e,
    "share",
    "What share of high risk accounts is frozen?",
    100 * cnt(acc, lambda x: x["risk"] == "high" and x["frozen"]) / cnt(acc, lambda x: x["risk"] == "high"),
    tol=0.1,
)
q(
    e,
    "count",
    "and in Old Town?",
    cnt(acc, lambda x: x["type"] == "savings" and x["branch"] == "Old Town"),
    before=["How many savings accounts are there?"],
)
nid(
    e,
    "How many accounts were closed?",
    "How many customers complained?",
    "How many accounts are dormant?",
    "What is the interest paid in 2025?",
    "How many transactions failed?",
    "How many accounts were opened by phone?",
    "How many loans are overdue?",
    "Which accounts were hacked?",
    "How many transactions were made by minors?",
    "How many accounts have two owners?",
    "How many suspicious transactions are there?",
    "How many transfers were reversed?",
    "How many accounts changed branch?",
    "How many accounts have a balance of about 1000?",
    "How many accounts are opened every month?",
    "How many transactions per account are there on average?",
)
with open("domains.jsonl", "w") as f:
    for i, o in enumerate(o for o in out if o["expected_answer"] is not None or o["kind"] == "not_in_data"):
        f.write(json.dumps({"id": f"{o['estate']}-{i:03}"} | o) + "\n")
