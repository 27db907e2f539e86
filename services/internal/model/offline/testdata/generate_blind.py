"""Writes two synthetic estates, railway and museum, and the set "blind": questions with their expected answers.

The answers are computed here from the records, independently of the planner. The rules were never changed for these questions, so the
set measures how the planner generalizes. Run in this folder: python3 generate_blind.py
"""
import random
import statistics
from collections import Counter

import generate
from generate import Questions, col, sums, where

rnd = random.Random(20261125)
generate.rnd = rnd
pick, day = rnd.choice, generate.day


def railway():
    cities = ["Ashford", "Brent", "Calder", "Dunmore", "Elmsley", "Farrow"]
    stations = []
    for i, city in enumerate(cities * 3):
        stations.append({"station": f"{city} {['Central', 'East', 'Airport'][i // 6]}", "city": city, "platforms": rnd.randrange(1, 15),
                         "step_free": rnd.random() < 0.6, "opened_year": rnd.randrange(1850, 2024), "daily_passengers": rnd.randrange(4, 900) * 100,
                         "station_master": pick(["H. Quist", "M. Ferrand", "O. Blake", None]), "ticket_office": rnd.choices(["open", "closed", "weekends only"], [6, 3, 1])[0]})
    trains = []
    for i in range(44):
        seats = pick([120, 240, 360, 480])
        trains.append({"unit": f"Z{401 + i}", "operator": rnd.choices(["Northline", "Coastal Rail", "Metro Express"], [5, 3, 2])[0],
                       "traction": rnd.choices(["electric", "diesel", "battery"], [6, 3, 1])[0], "seats": seats, "carriages": seats // 60,
                       "built": day("1994-01-01", "2025-12-31"), "last_overhaul": None if rnd.random() < 0.2 else day("2021-01-01", "2026-08-31"),
                       "state": rnd.choices(["in service", "in the depot", "withdrawn"], [7, 2, 1])[0], "top_speed_kmh": pick([120, 160, 200, 250]),
                       "wifi": rnd.random() < 0.55, "amenities": rnd.sample(["bistro", "bicycle space", "quiet zone", "power sockets"], rnd.randrange(0, 4))})
    services = []
    for i in range(90):
        a, b = rnd.sample(cities, 2)
        late = rnd.choices([0, rnd.randrange(1, 15), rnd.randrange(15, 120)], [6, 3, 1])[0]
        services.append({"service_no": f"S{7000 + i}", "origin": a, "destination": b, "unit": pick(trains)["unit"], "operator": pick(["Northline", "Coastal Rail", "Metro Express"]),
                         "run_on": day("2026-08-01", "2026-10-31"), "delay_min": late, "cancelled": rnd.random() < 0.08, "tickets_sold": rnd.randrange(10, 480),
                         "refunds": rnd.randrange(0, 25), "revenue_eur": rnd.randrange(3, 120) * 100, "cost_eur": rnd.randrange(3, 90) * 100,
                         "cause": None if late == 0 else pick(["signal failure", "weather", "staff shortage"])})
    staff = []
    for i in range(52):
        staff.append({"badge": f"RW{220 + i}", "name": f"{pick(['Ivo', 'Jette', 'Kai', 'Lena', 'Milo', 'Nora'])} {pick(['Sand', 'Thorne', 'Ude', 'Voss'])}{i}",
                      "duty": rnd.choices(["driver", "conductor", "dispatcher", "mechanic"], [5, 4, 2, 3])[0], "home_city": pick(cities), "hired_on": day("1998-01-01", "2026-05-31"),
                      "licence_valid_until": None if rnd.random() < 0.25 else day("2026-12-01", "2031-01-01"), "monthly_hours": rnd.randrange(80, 190),
                      "contract_hours": pick([120, 140, 160]), "part_time": rnd.random() < 0.3, "union_member": rnd.random() < 0.5})
    return {"network": {"stations": stations, "trains": trains}, "services": services, "staff": staff}


def railway_questions(e):
    st, tr, sv, p = e["network"]["stations"], e["network"]["trains"], e["services"], e["staff"]
    q = Questions("railway")
    q.count("How many stations does the network have?", st)
    q.count("How many stations are step free?", where(st, step_free=True))
    q.count("How many stations in Calder are not step free?", where(st, city="Calder", step_free=False))
    q.count("How many stations have fewer than five platforms?", [r for r in st if r["platforms"] < 5])
    q.count("How many stations opened before 1900?", [r for r in st if r["opened_year"] < 1900])
    q.count("Stations without a station master?", where(st, station_master=None))
    q.count("How many ticket offices are closed?", where(st, ticket_office="closed"))
    q.names("Which stations does H. Quist run?", [r["station"] for r in where(st, station_master="H. Quist")])
    q.top("Which station has the most platforms?", {r["station"]: r["platforms"] for r in st})
    q.top("Which station has the fewest daily passengers?", {r["station"]: r["daily_passengers"] for r in st}, least=True)
    q.top("What is the second busiest station by daily passengers?", {r["station"]: r["daily_passengers"] for r in st}, rank=1)
    q.number("How many passengers a day do the stations of Dunmore have in total?", sum(col(where(st, city="Dunmore"), "daily_passengers")))
    q.groups("Platforms: how many stations per city?", col(st, "city"))
    q.count("How many diesel trains are there?", where(tr, traction="diesel"))
    q.count("How many Northline trains run on batteries?", where(tr, operator="Northline", traction="battery"))
    q.count("How many trains are in the depot or withdrawn?", [r for r in tr if r["state"] in ("in the depot", "withdrawn")])
    q.count("How many trains have never been overhauled?", where(tr, last_overhaul=None))
    q.count("How many trains have Wi-Fi and a bistro?", [r for r in tr if r["wifi"] and "bistro" in r["amenities"]])
    q.count("How many trains offer a quiet zone?", [r for r in tr if "quiet zone" in r["amenities"]])
    q.count("How many trains were built between 2000 and 2010?", [r for r in tr if "2000" <= r["built"] < "2011"])
    q.count("How many trains can go faster than 160 km/h?", [r for r in tr if r["top_speed_kmh"] > 160])
    q.groups("Trains by traction", col(tr, "traction"))
    q.number("How many seats do the electric trains have altogether?", sum(col(where(tr, traction="electric"), "seats")))
    q.number("Average number of seats of a Coastal Rail train", statistics.mean(col(where(tr, operator="Coastal Rail"), "seats")))
    q.number("What is the median number of carriages?", statistics.median(col(tr, "carriages")))
    q.share("What share of the trains is electric?", where(tr, traction="electric"), tr)
    q.yesno("Do any withdrawn trains have Wi-Fi?", where(tr, state="withdrawn", wifi=True))
    q.every("Are all battery trains in service?", where(tr, traction="battery"), lambda r: r["state"] == "in service")
    q.count("How many services were cancelled?", where(sv, cancelled=True))
    q.count("How many services from Ashford to Brent ran?", where(sv, origin="Ashford", destination="Brent"))
    q.count("How many services arrived in Farrow in September 2026?", [r for r in sv if r["destination"] == "Farrow" and r["run_on"].startswith("2026-09")])
    q.count("How many services were more than 30 minutes late?", [r for r in sv if r["delay_min"] > 30])
    q.count("How many services had a delay of 5 to 20 minutes?", [r for r in sv if 5 <= r["delay_min"] <= 20])
    q.count("How many services lost money, with a cost above their revenue?", [r for r in sv if r["cost_eur"] > r["revenue_eur"]])
    q.count("How many delays were caused by weather?", where(sv, cause="weather"))
    q.groups("Delayed services by cause", [r["cause"] for r in sv if r["cause"]])
    q.top("Which operator earned the most revenue?", sums(sv, "operator", "revenue_eur"))
    q.top("Which destination is served most often?", Counter(col(sv, "destination")))
    q.number("What is the total revenue of Metro Express services?", sum(col(where(sv, operator="Metro Express"), "revenue_eur")))
    q.number("What is the ratio of refunds to tickets sold?", sum(col(sv, "refunds")) / sum(col(sv, "tickets_sold")))
    q.number("What is the difference between revenue and cost of all services?", sum(col(sv, "revenue_eur")) - sum(col(sv, "cost_eur")))
    q.number("How many tickets were sold on average per service to Elmsley?", statistics.mean(col(where(sv, destination="Elmsley"), "tickets_sold")))
    q.share("What percentage of services was not cancelled?", where(sv, cancelled=False), sv)
    q.yesno("Was any service to Ashford delayed by a signal failure?", where(sv, destination="Ashford", cause="signal failure"))
    q.count("How many services ran on 2026-10-05?", where(sv, run_on="2026-10-05"))
    q.count("How many conductors live in Brent?", where(p, duty="conductor", home_city="Brent"))
    q.count("How many part time drivers are union members?", where(p, duty="driver", part_time=True, union_member=True))
    q.count("How many employees worked more hours than their contract?", [r for r in p if r["monthly_hours"] > r["contract_hours"]])
    q.count("How many staff have a licence that expires before 2028?", [r for r in p if (r["licence_valid_until"] or "9") < "2028"])
    q.count("How many mechanics were hired after 2020?", [r for r in p if r["duty"] == "mechanic" and r["hired_on"] >= "2021"])
    q.groups("How many staff are there per duty?", col(p, "duty"))
    q.share("What percentage of the staff is part time?", where(p, part_time=True), p)
    q.names("Which dispatchers live in Calder?", [r["name"] for r in where(p, duty="dispatcher", home_city="Calder")])
    q.top("Who worked the most hours?", {r["name"]: r["monthly_hours"] for r in p})
    q.number("How many hours do drivers work on average?", statistics.mean(col(where(p, duty="driver"), "monthly_hours")))
    q.count("How many badges start with RW22?", [r for r in p if r["badge"].startswith("RW22")])
    q.missing("How many buses are there?")
    q.missing("What is the average salary of a driver?")
    q.missing("How many passengers complained?")
    q.missing("How many trains were derailed?")
    q.missing("Which stations have a bicycle garage?")
    q.missing("How many drivers are on holiday in December?")
    q.missing("How many services were late twice?")
    q.missing("Which station is the most beautiful?")
    return q.rows


def museum():
    halls = []
    for i, name in enumerate(["Rotunda", "North Gallery", "South Gallery", "Vault", "Atrium", "Print Room", "Tower", "Garden Pavilion", "Crypt", "Loft"]):
        halls.append({"hall_id": f"H{i + 1}", "hall": name, "floor": rnd.randrange(-1, 4), "area_sqm": rnd.randrange(40, 900), "visitor_capacity": rnd.randrange(10, 400),
                      "climate_controlled": rnd.random() < 0.7, "guard": pick(["Baker", "Chen", "Duarte", None])})
    objects = []
    for i in range(95):
        medium = rnd.choices(["oil painting", "bronze sculpture", "etching", "photograph", "tapestry"], [5, 2, 3, 4, 1])[0]
        objects.append({"inventory_no": f"{rnd.randrange(1890, 2026)}.{i:03}", "title": f"{pick(['Morning', 'Harvest', 'Silence', 'Tide', 'Ruins', 'Letter'])} {pick(['I', 'II', 'III'])} ({i})",
                        "artist": rnd.choices(["Ines Roca", "Paul Ostrander", "Mbali Dube", "unknown"], [4, 5, 3, 2])[0], "medium": medium, "year_made": rnd.randrange(1610, 2025),
                        "acquired_on": day("1950-01-01", "2026-09-30"), "acquisition": rnd.choices(["bequest", "purchase", "gift", "loan"], [2, 4, 3, 1])[0],
                        "insured_value_eur": rnd.randrange(5, 4000) * 500, "purchase_price_eur": rnd.randrange(1, 2000) * 500, "hall_id": None if rnd.random() < 0.45 else pick(halls)["hall_id"],
                        "condition": rnd.choices(["good", "fair", "poor", "under restoration"], [6, 3, 1, 1])[0], "on_display": rnd.random() < 0.5,
                        "height_cm": rnd.randrange(8, 320), "width_cm": rnd.randrange(8, 320), "keywords": rnd.sample(["landscape", "portrait", "war", "harbour", "animals"], rnd.randrange(0, 3))})
    shows = []
    for i, name in enumerate(["Light on Water", "The Quiet Century", "Metal and Fire", "Faces", "Woven Worlds", "After the Storm", "Small Things", "Maps of Nowhere"]):
        budget = rnd.randrange(20, 300) * 1000
        shows.append({"exhibition": name, "curator": pick(["L. Amsel", "R. Byrne", "S. Castell"]), "opens": day("2025-01-01", "2026-12-31"), "closes": day("2027-01-01", "2027-12-31"),
                      "budget_eur": budget, "spent_eur": max(0, budget + rnd.randrange(-60, 60) * 500), "visitors": rnd.randrange(0, 60000), "touring": rnd.random() < 0.4,
                      "sponsor": pick(["Bank Helvia", "City Fund", None])})
    tickets = []
    for i in range(110):
        n = rnd.randrange(1, 12)
        tickets.append({"order": f"T-{88000 + i}", "sold_on": day("2026-06-01", "2026-10-31"), "tariff": rnd.choices(["full", "reduced", "family", "free"], [5, 3, 2, 1])[0],
                        "channel": rnd.choices(["online", "box office", "partner"], [5, 4, 1])[0], "persons": n, "amount_eur": n * pick([0, 8, 12, 14]), "country": pick(["Portugal", "Japan", "Canada", "Kenya"]),
                        "guided": rnd.random() < 0.25, "refunded": rnd.random() < 0.06})
    return {"halls": halls, "objects": objects, "exhibitions": shows, "ticket_orders": tickets}


def museum_questions(e):
    h, o, x, t = e["halls"], e["objects"], e["exhibitions"], e["ticket_orders"]
    q = Questions("museum")
    q.count("How many objects are in the collection?", o)
    q.count("How many bronze sculptures do we own?", where(o, medium="bronze sculpture"))
    q.count("How many etchings are by Mbali Dube?", where(o, medium="etching", artist="Mbali Dube"))
    q.count("How many objects are by an unknown artist?", where(o, artist="unknown"))
    q.count("How many photographs are on display?", where(o, medium="photograph", on_display=True))
    q.count("How many objects are in no hall?", where(o, hall_id=None))
    q.count("How many objects are in poor condition or under restoration?", [r for r in o if r["condition"] in ("poor", "under restoration")])
    q.count("How many paintings are insured for more than one million euros?", [r for r in where(o, medium="oil painting") if r["insured_value_eur"] > 1000000])
    q.count("How many objects were made before 1800?", [r for r in o if r["year_made"] < 1800])
    q.count("How many objects were made in the 1700s?", [r for r in o if 1700 <= r["year_made"] < 1800])
    q.count("How many objects were acquired between 1990 and 1999?", [r for r in o if "1990" <= r["acquired_on"] < "2000"])
    q.count("How many objects were gifts?", where(o, acquisition="gift"))
    q.count("How many objects are wider than they are tall?", [r for r in o if r["width_cm"] > r["height_cm"]])
    q.count("How many objects have the keyword harbour?", [r for r in o if "harbour" in r["keywords"]])
    q.count("How many objects show animals or portraits?", [r for r in o if {"animals", "portrait"} & set(r["keywords"])])
    q.count("How many objects have no keywords?", [r for r in o if not r["keywords"]])
    q.count("How many titles contain Harvest?", [r for r in o if "Harvest" in r["title"]])
    q.count("How many objects are worth less than they cost, insured value below purchase price?", [r for r in o if r["insured_value_eur"] < r["purchase_price_eur"]])
    q.groups("How many objects per medium?", col(o, "medium"))
    q.groups("Condition of the tapestries", col(where(o, medium="tapestry"), "condition"))
    q.top("Who is the artist with the most objects?", Counter(col(o, "artist")))
    q.top("Which artist has the highest total insured value?", sums(o, "artist", "insured_value_eur"))
    q.number("What is the insured value of all photographs?", sum(col(where(o, medium="photograph"), "insured_value_eur")))
    q.number("What is the average purchase price of an etching?", statistics.mean(col(where(o, medium="etching"), "purchase_price_eur")))
    q.number("How tall is the tallest tapestry?", max(col(where(o, medium="tapestry"), "height_cm")))
    q.number("What is the lowest insured value of an oil painting?", min(col(where(o, medium="oil painting"), "insured_value_eur")))
    q.share("What percentage of the objects is on display?", where(o, on_display=True), o)
    q.share("What share of the bequests is in good condition?", where(o, acquisition="bequest", condition="good"), where(o, acquisition="bequest"))
    q.yesno("Are there any tapestries by Ines Roca?", where(o, medium="tapestry", artist="Ines Roca"))
    q.every("Are all loans on display?", where(o, acquisition="loan"), lambda r: r["on_display"])
    q.count("How many different artists are represented?", set(col(o, "artist")))
    q.number("How old, by year made, is the oldest object: what is the smallest year?", min(col(o, "year_made")))
    q.count("How many halls are climate controlled?", where(h, climate_controlled=True))
    q.names("Which halls have no guard?", [r["hall"] for r in where(h, guard=None)])
    q.names("Which halls are on floor 2?", [r["hall"] for r in where(h, floor=2)])
    q.top("Which hall is the largest by area?", {r["hall"]: r["area_sqm"] for r in h})
    q.topn("Top 3 halls by visitor capacity", {r["hall"]: r["visitor_capacity"] for r in h}, 3)
    q.number("Total area of the halls that Chen guards", sum(col(where(h, guard="Chen"), "area_sqm")))
    q.count("How many halls hold at least 100 visitors?", [r for r in h if r["visitor_capacity"] >= 100])
    q.names("Which exhibitions does R. Byrne curate?", [r["exhibition"] for r in where(x, curator="R. Byrne")])
    q.names("Which exhibitions exceeded their budget?", [r["exhibition"] for r in x if r["spent_eur"] > r["budget_eur"]])
    q.count("How many exhibitions have no sponsor?", where(x, sponsor=None))
    q.count("How many exhibitions open after June 2026?", [r for r in x if r["opens"] >= "2026-07"])
    q.top("Which exhibition attracted the most visitors?", {r["exhibition"]: r["visitors"] for r in x})
    q.number("What is the combined budget of the touring exhibitions?", sum(col(where(x, touring=True), "budget_eur")))
    q.number("What is the ratio of spent to budget?", sum(col(x, "spent_eur")) / sum(col(x, "budget_eur")))
    q.yesno("Is any exhibition sponsored by Bank Helvia touring?", where(x, sponsor="Bank Helvia", touring=True))
    q.count("How many ticket orders came from Japan?", where(t, country="Japan"))
    q.count("How many family orders were sold online?", where(t, tariff="family", channel="online"))
    q.count("How many orders were for exactly two persons?", where(t, persons=2))
    q.count("How many orders were refunded in July 2026?", [r for r in t if r["refunded"] and r["sold_on"].startswith("2026-07")])
    q.count("How many orders were neither guided nor refunded?", where(t, guided=False, refunded=False))
    q.number("How much did visitors from Canada pay in total?", sum(col(where(t, country="Canada"), "amount_eur")))
    q.number("How many persons per order on average?", statistics.mean(col(t, "persons")))
    q.top("Which channel sold the most orders?", Counter(col(t, "channel")))
    q.top("Which country brought in the least revenue, by amount?", sums(t, "country", "amount_eur"), least=True)
    q.groups("Ticket orders by tariff", col(t, "tariff"))
    q.share("What percentage of the orders was free?", where(t, tariff="free"), t)
    q.missing("How many visitors bought a catalogue?")
    q.missing("How many objects were stolen?")
    q.missing("What is the average age of the visitors?")
    q.missing("How many watercolours do we have?")
    q.missing("Which objects were restored twice?")
    q.missing("How many orders came from Brazil?")
    q.missing("How many exhibitions may be extended?")
    q.missing("How many curators speak Portuguese?")
    return q.rows


if __name__ == "__main__":
    generate.write("blind", (railway, railway_questions), (museum, museum_questions))
