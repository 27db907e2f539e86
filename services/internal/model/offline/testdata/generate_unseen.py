"""Writes two synthetic estates, airport and brewery, and the set "unseen": questions with their expected answers.

The answers are computed here from the records, independently of the planner. The questions were written when the rules were finished.
Run in this folder: python3 generate_unseen.py
"""
import json
import random
import statistics
from collections import Counter

import generate
from generate import Questions, col, sums, where

rnd = random.Random(20261124)
generate.rnd = rnd
pick, day = rnd.choice, generate.day


def airport():
    carriers = {"Nordwind": "Oslo", "AeroSud": "Palermo", "Skylark": "Dublin", "Tramontana": "Valencia"}
    gates = []
    for i in range(18):
        pier = "ABC"[i // 6]
        gates.append({"gate": f"{pier}{i % 6 + 1}", "terminal": "North" if pier == "A" else "South", "jet_bridge": rnd.random() < 0.6,
                      "max_wingspan_m": pick([36, 52, 65]), "status": rnd.choices(["open", "closed", "under maintenance"], [7, 2, 2])[0],
                      "lounge": pick(["Fjord", "Harbour", None])})
    flights = []
    for i in range(70):
        carrier = rnd.choices(list(carriers), [5, 3, 4, 2])[0]
        seats = pick([76, 144, 186, 290])
        flights.append({"flight_no": f"{carrier[:2].upper()}{210 + i}", "carrier": carrier,
                        "destination": pick(["Lisbon", "Zurich", "Athens", "Reykjavik", "Tunis", "Krakow"]), "gate": pick(gates)["gate"],
                        "departure_date": day("2026-09-01", "2026-10-31"), "status": rnd.choices(["on time", "delayed", "cancelled"], [6, 3, 1])[0],
                        "delay_minutes": 0, "passengers": seats - rnd.randrange(0, 60), "seats": seats, "international": rnd.random() < 0.7,
                        "aircraft_type": pick(["A320", "A321", "E190", "B787"])})
        if flights[-1]["status"] == "delayed":
            flights[-1]["delay_minutes"] = rnd.randrange(2, 40) * 5
    found = []
    for i in range(45):
        found.append({"item_no": f"LF-{300 + i}", "category": rnd.choices(["umbrella", "suitcase", "phone", "jacket", "passport"], [5, 4, 3, 4, 1])[0],
                      "colour": pick(["black", "blue", "red", "grey"]), "found_on": day("2026-06-01", "2026-10-31"),
                      "found_at": pick(["security", "arrivals hall", "gate area", "parking"]), "claimed": rnd.random() < 0.4, "storage_days": rnd.randrange(1, 91)})
    crew = []
    for i in range(30):
        crew.append({"name": pick(["Ada", "Ben", "Cleo", "Dag", "Eve", "Finn"]) + " " + pick(["Moe", "Rask", "Vik", "Lund", "Holm"]) + f" {i + 1}",
                     "team": pick(["ramp", "check-in", "fuelling", "de-icing"]), "shift": pick(["early", "late", "night"]),
                     "languages": sorted(rnd.sample(["English", "Norwegian", "Polish", "Spanish"], rnd.randrange(1, 4))),
                     "hired": day("2012-01-01", "2026-06-30"), "badge_expires": day("2026-11-01", "2029-12-31"),
                     "overtime_hours": rnd.randrange(0, 41), "supervisor": pick(["Holm", "Vik", None])})
    return {"flights": flights, "gates": gates, "lost_items": found, "ground_staff": crew}


def airport_questions(e):
    f, g, i, c = e["flights"], e["gates"], e["lost_items"], e["ground_staff"]
    q = Questions("airport")
    q.count("How many flights are there?", f)
    q.count("How many flights go to Lisbon?", where(f, destination="Lisbon"))
    q.count("How many Skylark flights were cancelled?", where(f, carrier="Skylark", status="cancelled"))
    q.count("How many international flights does Nordwind operate?", where(f, carrier="Nordwind", international=True))
    q.count("How many flights have a delay of more than 60 minutes?", [r for r in f if r["delay_minutes"] > 60])
    q.count("How many flights left before October 2026?", [r for r in f if r["departure_date"] < "2026-10"])
    q.count("How many flights carried between 100 and 150 passengers?", [r for r in f if 100 <= r["passengers"] <= 150])
    q.count("How many flights were not on time?", [r for r in f if r["status"] != "on time"])
    q.count("How many flights were delayed or cancelled?", [r for r in f if r["status"] in ("delayed", "cancelled")])
    q.groups("How many flights are there per carrier?", col(f, "carrier"))
    q.groups("Delayed flights by destination", col(where(f, status="delayed"), "destination"))
    q.top("Which destination has the most flights?", Counter(col(f, "destination")))
    q.top("Which carrier transported the most passengers?", sums(f, "carrier", "passengers"))
    q.top("Which destination has the second most flights?", Counter(col(f, "destination")), rank=1)
    q.number("What is the average delay of the delayed flights?", statistics.mean(col(where(f, status="delayed"), "delay_minutes")))
    q.number("How many passengers flew to Athens in total?", sum(col(where(f, destination="Athens"), "passengers")))
    q.number("What is the ratio of passengers to seats?", sum(col(f, "passengers")) / sum(col(f, "seats")))
    q.share("What percentage of flights is on time?", where(f, status="on time"), f)
    q.yesno("Are there any cancelled flights to Tunis?", where(f, destination="Tunis", status="cancelled"))
    q.every("Are all flights to Zurich international?", where(f, destination="Zurich"), lambda r: r["international"])
    q.count("How many gates are open?", where(g, status="open"))
    q.count("How many gates in the North terminal have a jet bridge?", where(g, terminal="North", jet_bridge=True))
    q.count("How many gates have no lounge?", where(g, lounge=None))
    q.names("Which gates are under maintenance?", col(where(g, status="under maintenance"), "gate"))
    q.number("What is the largest wingspan in the South terminal?", max(col(where(g, terminal="South"), "max_wingspan_m")))
    q.count("How many lost items have not been claimed?", where(i, claimed=False))
    q.count("How many black umbrellas were found?", where(i, colour="black", category="umbrella"))
    q.count("How many items were found at security in August 2026?", [r for r in i if r["found_at"] == "security" and r["found_on"].startswith("2026-08")])
    q.groups("Lost items by category", col(i, "category"))
    q.share("What share of the suitcases has been claimed?", where(i, category="suitcase", claimed=True), where(i, category="suitcase"))
    q.number("How long are lost phones stored on average?", statistics.mean(col(where(i, category="phone"), "storage_days")))
    q.count("How many ground staff speak Polish?", [r for r in c if "Polish" in r["languages"]])
    q.count("How many people work the night shift?", where(c, shift="night"))
    q.count("How many ground staff have a badge that expires before 2028?", [r for r in c if r["badge_expires"] < "2028"])
    q.names("Which ground staff have more than 35 overtime hours?", [r["name"] for r in c if r["overtime_hours"] > 35])
    q.number("Total overtime hours of the ramp team?", sum(col(where(c, team="ramp"), "overtime_hours")))
    q.missing("How many pilots are there?")
    q.missing("What is the average ticket price?")
    q.missing("How many flights go to Madrid?")
    q.missing("Which flights are overbooked?")
    return q.rows


def brewery():
    tanks = []
    for n in range(16):
        capacity = pick([1000, 2000, 4000])
        tanks.append({"tank": f"T{n + 1:02}", "kind": pick(["fermenter", "conditioning", "bright"]), "capacity_l": capacity,
                      "contents_l": rnd.randrange(0, capacity // 100 + 1) * 100, "last_cleaned": day("2026-08-01", "2026-10-31"),
                      "hall": pick(["east", "west"]), "pressurised": rnd.random() < 0.5})
    batches = []
    for n in range(60):
        batches.append({"batch_no": f"B-{2600 + n}", "style": rnd.choices(["pilsner", "stout", "wheat beer", "pale ale"], [6, 2, 3, 4])[0],
                        "brewer": pick(["Hopkins", "Maltby", "Yeasley"]), "tank": pick(tanks)["tank"], "brewed_on": day("2026-01-01", "2026-10-01"),
                        "bottled_on": None if rnd.random() < 0.25 else day("2026-10-02", "2026-10-31"), "volume_l": rnd.randrange(8, 40) * 100,
                        "target_volume_l": rnd.randrange(8, 40) * 100, "alcohol_percent": round(rnd.uniform(3.5, 8.5), 1),
                        "quality": rnd.choices(["passed", "failed", "pending"], [8, 1, 2])[0], "organic": rnd.random() < 0.3})
    orders = []
    for n in range(55):
        orders.append({"order_no": f"O-{900 + n}", "customer": pick(["Red Lion", "Corner Shop", "Bistro Nord", "Hotel Adler", "Kiosk 24"]),
                       "city": pick(["Bremen", "Kiel", "Rostock"]), "product": pick(["pilsner", "stout", "wheat beer", "pale ale"]),
                       "crates": rnd.randrange(1, 50), "amount_eur": rnd.randrange(20, 900), "ordered_on": day("2026-07-01", "2026-10-31"),
                       "delivered_on": None if rnd.random() < 0.2 else day("2026-11-01", "2026-11-20"), "paid": rnd.random() < 0.75,
                       "channel": pick(["phone", "web", "sales rep"])})
    return {"tanks": tanks, "batches": batches, "orders": orders}


def brewery_questions(e):
    t, b, o = e["tanks"], e["batches"], e["orders"]
    q = Questions("brewery")
    q.count("How many batches have we brewed?", b)
    q.count("How many stout batches are there?", where(b, style="stout"))
    q.count("How many batches did Maltby brew?", where(b, brewer="Maltby"))
    q.count("How many organic batches failed?", where(b, organic=True, quality="failed"))
    q.count("How many batches have not been bottled?", where(b, bottled_on=None))
    q.count("How many batches exceed their target volume?", [r for r in b if r["volume_l"] > r["target_volume_l"]])
    q.count("How many batches have at least 6 percent alcohol?", [r for r in b if r["alcohol_percent"] >= 6])
    q.count("How many batches were brewed in March 2026?", [r for r in b if r["brewed_on"].startswith("2026-03")])
    q.groups("How many batches did each brewer make?", col(b, "brewer"))
    q.groups("Batches by style", col(b, "style"))
    q.number("Average alcohol of the pale ales?", statistics.mean(col(where(b, style="pale ale"), "alcohol_percent")))
    q.number("What is the total volume of all pilsner batches?", sum(col(where(b, style="pilsner"), "volume_l")))
    q.number("What is the strongest stout's alcohol content, i.e. the highest alcohol percent of the stouts?",
             max(col(where(b, style="stout"), "alcohol_percent")))
    q.top("Which style is brewed most often?", Counter(col(b, "style")))
    q.top("Which brewer has the fewest batches?", Counter(col(b, "brewer")), least=True)
    q.share("What percentage of the batches passed?", where(b, quality="passed"), b)
    q.yesno("Is any batch of wheat beer pending?", where(b, style="wheat beer", quality="pending"))
    q.every("Did all pilsner batches pass?", where(b, style="pilsner"), lambda r: r["quality"] == "passed")
    q.count("How many fermenters are in the east hall?", where(t, kind="fermenter", hall="east"))
    q.count("How many tanks are empty?", where(t, contents_l=0))
    q.number("What is the total capacity of the bright tanks?", sum(col(where(t, kind="bright"), "capacity_l")))
    q.names("List the pressurised tanks in the west hall", col(where(t, hall="west", pressurised=True), "tank"))
    q.count("How many tanks were last cleaned before 2026-09-15?", [r for r in t if r["last_cleaned"] < "2026-09-15"])
    q.count("How many orders are unpaid?", where(o, paid=False))
    q.count("How many orders from Kiel came by phone?", where(o, city="Kiel", channel="phone"))
    q.count("How many orders have not been delivered yet?", where(o, delivered_on=None))
    q.count("How many orders are worth more than 500 euros?", [r for r in o if r["amount_eur"] > 500])
    q.number("How many crates did Hotel Adler order?", sum(col(where(o, customer="Hotel Adler"), "crates")))
    q.top("Which customer ordered the most crates?", sums(o, "customer", "crates"))
    q.topn("Top 3 customers by number of orders", Counter(col(o, "customer")), 3)
    q.groups("Number of orders per city", col(o, "city"))
    q.share("What fraction of orders is paid?", where(o, paid=True), o)
    q.number("What is the average amount of an order from Rostock?", statistics.mean(col(where(o, city="Rostock"), "amount_eur")))
    q.count("How many different customers do we have?", set(col(o, "customer")))
    q.count("How many order numbers start with O-91?", [r for r in o if r["order_no"].startswith("O-91")])
    q.missing("How many barrels of hops are in stock?")
    q.missing("How many batches of cider are there?")
    q.missing("Which orders were returned?")
    return q.rows


def main():
    rows = []
    for make, ask in ((airport, airport_questions), (brewery, brewery_questions)):
        made = make()
        rows += ask(made)
        with open(f"{make.__name__}.json", "w", encoding="utf-8") as f:
            arrays = [f' "{k}": [\n' + ",\n".join("  " + json.dumps(r) for r in v) + "\n ]" for k, v in made.items()]
            f.write("{\n" + ",\n".join(arrays) + "\n}\n")
    with open("unseen.jsonl", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)


if __name__ == "__main__":
    main()
