"""Writes three small synthetic estates, ski, bloodbank and experiments, and the set "services": questions with their expected answers.

The answers are computed here from the records, independently of the planner. Run in this folder: python3 generate_services.py
"""
import random
import statistics
from collections import Counter

import generate
from generate import Questions, col, sums, where

rnd = random.Random(20261127)
generate.rnd = rnd
pick, day = rnd.choice, generate.day


def ski():
    lifts = []
    for i, name in enumerate(["Alpenrose", "Bergblick", "Chamois", "Dachstein", "Edelweiss", "Firn", "Gletscher", "Hirsch", "Isenberg", "Joch", "Kanzel", "Lawine"]):
        lifts.append({"name": name, "kind": pick(["chairlift", "gondola", "drag lift"]), "valley": pick(["Nord", "Sued", "Mitte"]), "seats": pick([2, 4, 6, 8]),
                      "riders_per_hour": pick([900, 1200, 1800, 2400, 3000]), "length_m": rnd.randrange(400, 3100), "open": rnd.random() < 0.7,
                      "heated_seats": rnd.random() < 0.4, "built": rnd.randrange(1972, 2024), "lastInspection": day("2025-09-01", "2026-11-15"),
                      "staff": rnd.randrange(1, 6)})
    slopes = []
    for i in range(32):
        slopes.append({"slope": i + 1, "difficulty": rnd.choices(["blue", "red", "black"], [4, 4, 2])[0], "valley": pick(["Nord", "Sued", "Mitte"]),
                       "lift": pick(lifts)["name"], "length_km": round(rnd.uniform(0.4, 6.2), 1), "groomed": rnd.random() < 0.75, "snow_cm": rnd.randrange(0, 180),
                       "snowmaking": rnd.random() < 0.5, "status": rnd.choices(["open", "closed", "race"], [7, 3, 1])[0], "vertical_m": rnd.randrange(80, 900)})
    passes = []
    for i in range(55):
        k = pick(["day", "week", "season"])
        passes.append({"passId": f"P{90000 + i}", "type": k, "age_group": rnd.choices(["adult", "child", "senior"], [5, 3, 2])[0],
                       "price_chf": {"day": 72, "week": 390, "season": 980}[k] - rnd.choice([0, 10, 25]), "sold_at": pick(["web", "kiosk", "counter"]),
                       "sold_on": day("2026-10-01", "2026-11-26"), "refunded": rnd.random() < 0.1, "rides": rnd.choice([0, rnd.randrange(1, 60)]),
                       "country": rnd.choices(["CH", "DE", "IT", "NL"], [5, 4, 2, 2])[0], "discount": None if rnd.random() < 0.7 else pick(["student", "family"])})
    return {"lifts": lifts, "slopes": slopes, "passes": passes}


def ski_questions(e):
    q, l, s, p = Questions("ski"), e["lifts"], e["slopes"], e["passes"]
    q.count("how many lifts are there?", l)
    q.count("How many lifts are open right now?", where(l, open=True))
    q.names("which lifts are closed?", col(where(l, open=False), "name"))
    q.count("how many gondolas do we have", where(l, kind="gondola"))
    q.number("total number of seats of the chairlifts?", sum(col(where(l, kind="chairlift"), "seats")))
    q.top("which lift is the longest?", {r["name"]: r["length_m"] for r in l})
    q.top("oldest lift?", {r["name"]: r["built"] for r in l}, least=True)
    q.count("how many lifts were built before 1990?", [r for r in l if r["built"] < 1990])
    q.names("Which lifts have heated seats?", col(where(l, heated_seats=True), "name"))
    q.number("average riders per hour", statistics.mean(col(l, "riders_per_hour")))
    q.number("how many staff work at the lifts in Nord?", sum(col(where(l, valley="Nord"), "staff")))
    q.names("lifts last inspected before 2026", [r["name"] for r in l if r["lastInspection"] < "2026"])
    q.count("How many slopes are there?", s)
    q.groups("slopes by difficulty", col(s, "difficulty"))
    q.count("how many black slopes are open", where(s, difficulty="black", status="open"))
    q.number("how many km of red slopes are there?", sum(col(where(s, difficulty="red"), "length_km")))
    q.number("what is the total length of the slopes in km?", sum(col(s, "length_km")))
    q.add("breakdown", "total vertical by valley", dict(sums(s, "valley", "vertical_m")))
    q.count("how many slopes are not groomed?", where(s, groomed=False))
    q.count("How many slopes have more than 1 m of snow?", [r for r in s if r["snow_cm"] > 100])
    q.count("How many slopes have at least 100 cm of snow?", [r for r in s if r["snow_cm"] >= 100])
    q.count("slopes with no snow?", where(s, snow_cm=0))
    q.count("how many slopes start at the lift Chamois?", where(s, lift="Chamois"))
    q.share("what percentage of slopes is open?", where(s, status="open"), s)
    q.count("how many blue or red slopes have snowmaking?", [r for r in s if r["difficulty"] in ("blue", "red") and r["snowmaking"]])
    q.top("which valley has the most slopes?", Counter(col(s, "valley")))
    q.top("which difficulty is the rarest?", Counter(col(s, "difficulty")), least=True)
    q.count("how many passes did we sell?", p)
    q.number("what's our revenue from passes?", sum(col(p, "price_chf")))
    q.add("breakdown", "revenue by pass type", dict(sums(p, "type", "price_chf")))
    q.number("average price of a season pass", statistics.mean(col(where(p, type="season"), "price_chf")))
    q.count("how many season passes were sold online?", where(p, type="season", sold_at="web"))
    q.count("how many passes were sold in november 2026?", [r for r in p if r["sold_on"].startswith("2026-11")])
    q.count("how many passes were refunded", where(p, refunded=True))
    q.count("how many passes were never used?", where(p, rides=0))
    q.number("how many rides did children take?", sum(col(where(p, age_group="child"), "rides")))
    q.top("which country buys the most passes?", Counter(col(p, "country")))
    q.top("which country buys the second most passes?", Counter(col(p, "country")), rank=1)
    q.count("how many passes have a discount?", [r for r in p if r["discount"]])
    q.count("how many student discounts were given", where(p, discount="student"))
    q.yesno("were any week passes refunded?", where(p, type="week", refunded=True))
    q.missing("how many slopes are in the country?")
    q.missing("how many accidents happened this season?")
    q.missing("hardest slope?")
    q.count("how many lifts have 6+ seats?", [r for r in l if r["seats"] >= 6])
    return q.rows


def bloodbank():
    donors = []
    for i in range(50):
        donors.append({"donor": f"D-{100 + i}", "blood_group": rnd.choices(["A", "B", "AB", "0"], [5, 3, 1, 5])[0], "rhesus": pick(["positive", "positive", "negative"]),
                       "sex": pick(["female", "male"]), "birth_year": rnd.randrange(1958, 2008), "city": pick(["Gent", "Brugge", "Leuven", "Aalst"]),
                       "donations": rnd.randrange(0, 48), "last_donation": None if rnd.random() < 0.1 else day("2025-01-01", "2026-11-20"),
                       "deferred": rnd.random() < 0.15, "email": None if rnd.random() < 0.2 else f"d{i}@mail.example", "weight_kg": rnd.randrange(50, 118)})
    units = []
    for i in range(60):
        units.append({"unit_no": f"U{5000 + i}", "component": rnd.choices(["red cells", "plasma", "platelets"], [5, 3, 2])[0], "group": pick(["A", "B", "AB", "0"]),
                      "volume_ml": pick([220, 250, 280, 450]), "collected": day("2026-09-01", "2026-11-15"), "expires": day("2026-11-20", "2027-02-20"),
                      "status": rnd.choices(["available", "reserved", "issued", "discarded"], [8, 3, 4, 2])[0], "fridge": pick(["F1", "F2", "F3"]),
                      "irradiated": rnd.random() < 0.3, "tested": rnd.random() < 0.85, "hospital": pick(["AZ Maria", "UZ Zuid", None])})
    drives = []
    for i in range(14):
        slots = rnd.randrange(30, 120)
        drives.append({"venue": f"{pick(['School', 'Town Hall', 'Library', 'Factory'])} {i + 1}", "city": pick(["Gent", "Brugge", "Leuven", "Aalst"]), "date": day("2026-06-01", "2027-02-28"),
                       "slots": slots, "booked": rnd.randrange(0, slots + 1), "nurses": rnd.randrange(2, 8), "cancelled": rnd.random() < 0.2, "units": rnd.randrange(0, 60)})
    return {"donors": donors, "units": units, "drives": drives}


def bloodbank_questions(e):
    q, d, u, v = Questions("bloodbank"), e["donors"], e["units"], e["drives"]
    q.count("how many donors are registered?", d)
    q.count("how many female donors do we have?", where(d, sex="female"))
    q.count("How many donors have blood group AB?", where(d, blood_group="AB"))
    q.count("how many rhesus negative donors are from Gent", where(d, rhesus="negative", city="Gent"))
    q.groups("donors per blood group", col(d, "blood_group"))
    q.groups("How many donors live in each city?", col(d, "city"))
    q.top("which city has the least donors?", Counter(col(d, "city")), least=True)
    q.count("how many donors were born after 1990", [r for r in d if r["birth_year"] > 1990])
    q.count("how many donors have no email address?", where(d, email=None))
    q.count("How many donors gave blood more than 20 times?", [r for r in d if r["donations"] > 20])
    q.number("how many donations did donors from Leuven make?", sum(col(where(d, city="Leuven"), "donations")))
    q.add("breakdown", "donations per city", dict(sums(d, "city", "donations")))
    q.number("average number of donations per donor?", statistics.mean(col(d, "donations")))
    q.top("who is the heaviest donor?", {r["donor"]: r["weight_kg"] for r in d})
    q.count("How many donors last donated in 2025?", [r for r in d if (r["last_donation"] or "").startswith("2025")])
    q.share("percentage of deferred donors", where(d, deferred=True), d)
    q.count("how many donors weigh less than 60 kg?", [r for r in d if r["weight_kg"] < 60])
    q.topn("top 5 donors by donations", {r["donor"]: r["donations"] for r in d}, 5) if sorted(col(d, "donations"))[-5] > sorted(col(d, "donations"))[-6] else None
    q.count("how many units of plasma are available?", where(u, component="plasma", status="available"))
    q.count("how many units are in the blood bank?", u)
    q.count("how many units are in F2?", where(u, fridge="F2"))
    q.groups("units by status", col(u, "status"))
    q.number("total volume of platelets in ml", sum(col(where(u, component="platelets"), "volume_ml")))
    q.count("How many units expire in 2026?", [r for r in u if r["expires"].startswith("2026")])
    q.count("how many units expire before 1 december 2026?", [r for r in u if r["expires"] < "2026-12-01"])
    q.count("how many units havent been tested?", where(u, tested=False))
    q.count("units without hospital", where(u, hospital=None))
    q.count("how many irradiated red cells were issued to UZ Zuid?", where(u, component="red cells", irradiated=True, status="issued", hospital="UZ Zuid"))
    q.top("which fridge holds the most units?", Counter(col(u, "fridge")))
    q.top("which fridge holds the most volume?", sums(u, "fridge", "volume_ml"))
    q.yesno("is there any group AB plasma available?", where(u, component="plasma", status="available", group="AB"))
    q.every("are all available units tested?", where(u, status="available"), lambda r: r["tested"])
    q.count("How many drives are planned in Brugge?", where(v, city="Brugge"))
    q.number("how many slots were booked in total?", sum(col(v, "booked")))
    q.names("which drives were cancelled?", col(where(v, cancelled=True), "venue"))
    q.number("how many nurses work on drives in Aalst?", sum(col(where(v, city="Aalst"), "nurses")))
    q.count("drives in 2027?", [r for r in v if r["date"] >= "2027"])
    q.count("how many drives are fully booked?", [r for r in v if r["booked"] == r["slots"]])
    q.number("ratio of booked to slots", sum(col(v, "booked")) / sum(col(v, "slots")))
    q.top("which drive has the most nurses?", {r["venue"]: r["nurses"] for r in v})
    q.missing("how many units are in the city?")
    q.missing("how many donors fainted?")
    q.missing("how many donors are older than 50?")
    q.missing("what is the weight of the largest donor?")
    return q.rows


def experiments():
    nodes = []
    for i in range(12):
        nodes.append({"node": f"ml{i + 1:02}", "accelerator": pick(["H200", "L40", "MI300"]), "accelerators": pick([2, 4, 8]), "memory_gb": pick([256, 512, 1024]), "zone": pick(["a", "b"]),
                      "reserved": rnd.random() < 0.3, "driver": pick(["550", "560"])})
    runs = []
    for i in range(70):
        st = rnd.choices(["finished", "failed", "running", "killed"], [9, 3, 2, 1])[0]
        runs.append({"run_id": f"run-{i:03}", "project": pick(["speech", "vision", "ranking", "forecast"]), "model": pick(["conformer", "resnet", "twotower", "nbeats"]),
                     "author": pick(["lena", "marek", "noor", "otto"]), "status": st, "epochs": rnd.randrange(1, 80), "batch_size": pick([32, 64, 128, 256]),
                     "learning_rate": pick([0.1, 0.01, 0.001]), "val_accuracy": round(rnd.uniform(0.5, 0.98), 3) if st == "finished" else None,
                     "gpu_hours": round(rnd.uniform(0.5, 90), 1), "node": pick(nodes)["node"], "started_at": day("2026-08-01", "2026-11-20") + "T09:00:00Z",
                     "tags": rnd.sample(["baseline", "sweep", "prod"], rnd.randrange(0, 3)), "notes": None if rnd.random() < 0.6 else "see wiki"})
    datasets = []
    for i in range(16):
        datasets.append({"dataset": f"{pick(['calls', 'images', 'logs', 'sales'])}-{i}", "rows": rnd.randrange(1000, 900000), "size_gb": round(rnd.uniform(0.1, 800), 1),
                         "format": pick(["parquet", "csv", "tfrecord"]), "owner": pick(["lena", "marek", "noor"]), "public": rnd.random() < 0.3,
                         "default_split": pick(["train", "test", "train"]), "licence": pick(["MIT", "CC-BY", None]), "added": day("2024-01-01", "2026-10-31"), "versions": rnd.randrange(1, 9)})
    return {"nodes": nodes, "runs": runs, "datasets": datasets}


def experiments_questions(e):
    q, n, r, d = Questions("experiments"), e["nodes"], e["runs"], e["datasets"]
    q.count("how many nodes are in zone b?", where(n, zone="b"))
    q.number("how many accelerators are there in total?", sum(col(n, "accelerators")))
    q.add("breakdown", "how many accelerators per zone?", dict(sums(n, "zone", "accelerators")))
    q.groups("nodes per accelerator", col(n, "accelerator"))
    q.number("how much memory do the L40 nodes have?", sum(col(where(n, accelerator="L40"), "memory_gb")))
    q.count("how many nodes are unreserved?", where(n, reserved=False))
    q.count("how many runs are there", r)
    q.count("how many runs failed?", where(r, status="failed"))
    q.groups("runs per project", col(r, "project"))
    q.count("how many runs did lena start?", where(r, author="lena"))
    q.top("who has the most runs?", Counter(col(r, "author")))
    q.top("who used the most gpu hours?", sums(r, "author", "gpu_hours"))
    q.number("total gpu hours of vision", sum(col(where(r, project="vision"), "gpu_hours")))
    q.number("what is the best val accuracy?", max(x["val_accuracy"] for x in r if x["val_accuracy"]))
    q.top("which run has the highest accuracy?", {x["run_id"]: x["val_accuracy"] for x in r if x["val_accuracy"]})
    q.number("average accuracy of resnet runs?", statistics.mean(x["val_accuracy"] for x in r if x["model"] == "resnet" and x["val_accuracy"]))
    q.share("what fraction of the runs of marek failed?", where(r, author="marek", status="failed"), where(r, author="marek"))
    q.count("how many runs have more than 50 epochs?", [x for x in r if x["epochs"] > 50])
    q.count("how many runs have a batch size of 64 or 128?", [x for x in r if x["batch_size"] in (64, 128)])
    q.count("how many runs used a learning rate of 0.01?", where(r, learning_rate=0.01))
    q.count("how many runs are tagged sweep?", [x for x in r if "sweep" in x["tags"]])
    q.count("runs started since october 2026", [x for x in r if x["started_at"] >= "2026-10"])
    q.count("how many runs were started on 2026-09-01 or later?", [x for x in r if x["started_at"] >= "2026-09-01"])
    q.count("how many runs have no notes", where(r, notes=None))
    q.count("how many runs ran on ml03?", where(r, node="ml03"))
    q.yesno("are any runs of nbeats still running?", where(r, model="nbeats", status="running"))
    q.count("how many datasets are public?", where(d, public=True))
    q.count("how many datasets are not in csv format", [x for x in d if x["format"] != "csv"])
    q.number("how many rows do we have in total?", sum(col(d, "rows")))
    q.top("largest dataset?", {x["dataset"]: x["size_gb"] for x in d})
    q.top("which dataset has the most rows?", {x["dataset"]: x["rows"] for x in d})
    q.names("which datasets use test?", col(where(d, default_split="test"), "dataset"))
    q.count("how many datasets have no licence?", where(d, licence=None))
    q.number("combined size of noor's datasets in gb", sum(col(where(d, owner="noor"), "size_gb")))
    q.number("how many versions do the parquet datasets have?", sum(col(where(d, format="parquet"), "versions")))
    q.names("which datasets were added in 2024?", [x["dataset"] for x in d if x["added"].startswith("2024")])
    q.missing("how many runs are in the zone?")
    q.missing("which runs overfit?")
    q.missing("how many runs ran in zone a?")
    q.missing("how many gpus are there?")
    q.count("how many runs have accuracy above 90%?", [x for x in r if (x["val_accuracy"] or 0) > 0.9])
    q.top("third largest dataset by rows", {x["dataset"]: x["rows"] for x in d}, rank=2)
    q.number("most epochs?", max(col(r, "epochs")))
    return q.rows


if __name__ == "__main__":
    generate.write("services", (ski, ski_questions), (bloodbank, bloodbank_questions), (experiments, experiments_questions))
