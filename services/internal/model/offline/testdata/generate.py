"""Writes four synthetic estates and, for each, questions with their expected answers.

The answers are computed here from the records, independently of the planner and of the
estate package. The questions of the sets "dev" (hospital, cluster) served to develop the
rules; those of the set "held-out" (shipping, campus) were written before the rules and did
not. Run in this folder: python3 generate.py
"""
import json
import random
import statistics
from collections import Counter
from datetime import date, timedelta

rnd = random.Random(20261123)
pick = rnd.choice


def weighted(**kw):
    keys = list(kw)
    return rnd.choices(keys, [kw[k] for k in keys])[0]


def day(first, last):
    a, b = date.fromisoformat(first), date.fromisoformat(last)
    return (a + timedelta(days=rnd.randrange((b - a).days))).isoformat()


def hospital():
    makers = {"infusion pump": ["B. Braun", "Fresenius"], "ventilator": ["Draeger", "GE Healthcare"],
              "patient monitor": ["Philips", "Mindray", "GE Healthcare"], "defibrillator": ["Philips", "Zoll"],
              "ultrasound": ["GE Healthcare", "Philips"]}
    departments = ["Intensive Care", "Cardiology", "Emergency", "Radiology", "Surgery"]
    devices = []
    for i in range(64):
        kind = rnd.choices(list(makers), [20, 10, 18, 9, 7])[0]
        devices.append({
            "asset_tag": f"MD-{1001 + i}", "device_type": kind, "manufacturer": pick(makers[kind]),
            "department": rnd.choices(departments, [9, 5, 7, 3, 6])[0], "purchase_date": day("2014-01-01", "2026-06-01"),
            "warranty_until": day("2024-01-01", "2030-12-31"), "last_service": None if rnd.random() < 0.15 else day("2024-06-01", "2026-09-30"),
            "status": rnd.choices(["in use", "in repair", "retired"], [70, 18, 12])[0], "networked": rnd.random() < 0.6,
            "risk_class": pick(["I", "IIa", "IIb", "III"]), "price_eur": rnd.randrange(8, 420) * 100})
    orders = []
    for i in range(48):
        planned = rnd.randrange(1, 12)
        orders.append({
            "order_no": f"WO-{5200 + i}", "asset_tag": pick(devices)["asset_tag"], "priority": rnd.choices(["low", "medium", "high", "urgent"], [3, 4, 2, 1])[0],
            "opened": day("2025-10-01", "2026-09-30"), "closed": None if rnd.random() < 0.3 else day("2026-10-01", "2026-11-15"),
            "technician": pick(["Okoye", "Lindqvist", "Marino", "Petrov"]), "hours_planned": planned, "hours_spent": max(1, planned + rnd.randrange(-3, 5)),
            "cost_eur": rnd.randrange(2, 90) * 25, "parts": rnd.sample(["battery", "cable", "filter", "sensor", "display"], rnd.randrange(0, 3))})
    wards = []
    for name, floor in [("North 1", 1), ("North 2", 2), ("South 1", 1), ("South 2", 2), ("Maternity", 3), ("Pediatrics", 3), ("Oncology", 4), ("Geriatrics", 4)]:
        beds = rnd.randrange(12, 34)
        wards.append({"name": name, "floor": floor, "beds": beds, "occupied_beds": rnd.randrange(5, beds + 1), "isolation_rooms": rnd.randrange(0, 4)})
    return {"devices": devices, "service_orders": orders, "wards": wards}


def cluster():
    nodes = []
    for i in range(12):
        cores = pick([8, 16, 32])
        nodes.append({"name": f"node-{i + 1:02}", "role": "control-plane" if i < 3 else "worker", "zone": pick(["zone-a", "zone-b", "zone-c"]),
                      "cpu_cores": cores, "memory_gib": cores * pick([2, 4]), "kubelet_version": pick(["v1.33.2", "v1.34.1"]), "ready": i not in (5, 9),
                      "labels": {"pool": "system" if i < 3 else pick(["general", "batch", "gpu"])}})
    namespaces = ["checkout", "search", "payments", "monitoring", "kube-system"]
    pods = []
    for i in range(72):
        ns, request = pick(namespaces), pick([50, 100, 250, 500])
        mem = pick([64, 128, 256, 512])
        pods.append({"name": f"{ns}-{rnd.randrange(16**5):05x}", "namespace": ns, "node": pick(nodes)["name"] if rnd.random() < 0.9 else None,
                     "phase": rnd.choices(["Running", "Pending", "Failed", "Succeeded"], [75, 10, 8, 7])[0], "restarts": rnd.choices([0, 1, 3, 8, 27], [50, 12, 6, 4, 2])[0],
                     "cpu_request_m": request, "cpu_limit_m": request * pick([1, 2, 4]), "memory_request_mib": mem, "memory_limit_mib": mem * pick([1, 2]),
                     "image": pick(["nginx:1.27", "redis:7.4", "postgres:17", "envoy:1.31"]), "owner": {"kind": pick(["ReplicaSet", "StatefulSet", "DaemonSet"])},
                     "started_at": day("2026-05-01", "2026-11-20") + "T08:15:00Z"})
    claims = []
    for i in range(26):
        cap = pick([10, 20, 50, 100, 200])
        claims.append({"name": f"data-{i}", "namespace": pick(namespaces), "storage_class": pick(["ssd", "hdd", "nfs"]), "capacity_gib": cap,
                       "used_gib": rnd.randrange(0, cap + 1), "access_modes": rnd.sample(["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"], rnd.randrange(1, 3)),
                       "bound": rnd.random() < 0.8, "created": day("2024-01-01", "2026-11-01")})
    return {"nodes": nodes, "pods": pods, "persistent_volume_claims": claims}


def shipping():
    vessels = []
    names = ["Aurora", "Bergen Star", "Calypso", "Dorado", "Evening Tide", "Fjord Spirit", "Gannet", "Halcyon", "Iberia", "Juniper Bay", "Kestrel", "Lodestar",
             "Meridian", "Northern Light", "Orca", "Petrel", "Quayside", "Rosalind", "Sirius", "Tern", "Umbra", "Valiant", "Westerly", "Xenia", "Yarrow",
             "Zephyr", "Albatross", "Boreas", "Cormorant", "Dunlin", "Eider", "Fulmar", "Guillemot", "Heron", "Ibis", "Jackdaw"]
    for i, name in enumerate(names):
        crew = rnd.randrange(14, 30)
        vessels.append({"imo": 9300100 + 7 * i, "name": name, "type": rnd.choices(["container ship", "bulk carrier", "oil tanker", "car carrier"], [5, 4, 3, 2])[0],
                        "flag": pick(["Panama", "Liberia", "Malta", "Norway", "Singapore"]), "built_year": rnd.randrange(1998, 2026), "deadweight_t": rnd.randrange(9, 180) * 1000,
                        "crew_berths": crew + rnd.randrange(-1, 6), "crew_aboard": crew, "status": rnd.choices(["at sea", "in port", "at anchor", "dry dock"], [6, 4, 2, 1])[0],
                        "fuel": pick(["HFO", "LNG", "MGO"]), "scrubber": rnd.random() < 0.4, "next_survey": day("2026-12-01", "2030-06-30"),
                        "max_speed_kn": round(rnd.uniform(11, 24), 1)})
    voyages = []
    ports = ["Rotterdam", "Singapore", "Santos", "Oslo", "Valletta", "Shanghai"]
    for i in range(58):
        a, b = rnd.sample(ports, 2)
        voyages.append({"voyage_no": f"V{26000 + i}", "vessel": pick(names), "origin": a, "destination": b, "departed": day("2026-01-05", "2026-11-01"),
                        "arrived": None if rnd.random() < 0.2 else day("2026-11-01", "2026-11-22"), "distance_nm": rnd.randrange(300, 11000),
                        "planned_days": rnd.randrange(3, 30), "actual_days": rnd.randrange(3, 34), "cargo_tonnes": rnd.randrange(2, 150) * 500, "on_time": rnd.random() < 0.65})
    crew = []
    for i in range(46):
        crew.append({"seafarer_id": f"SF{700 + i}", "rank": rnd.choices(["captain", "chief engineer", "second officer", "able seaman", "cook"], [2, 2, 3, 8, 2])[0],
                     "nationality": pick(["Filipino", "Indian", "Norwegian", "Ukrainian"]), "vessel": None if rnd.random() < 0.2 else pick(names),
                     "contract_end": day("2026-11-25", "2027-10-01"), "age": rnd.randrange(21, 64), "certificates": rnd.sample(["STCW", "GMDSS", "tanker", "medical"], rnd.randrange(0, 4))})
    return {"vessels": vessels, "voyages": voyages, "crew_members": crew}


def campus():
    buildings = ["Library", "Physics", "Chemistry", "Main Hall", "Dormitory East", "Sports Center"]
    aps = []
    for i in range(54):
        limit = pick([100, 200, 250])
        aps.append({"hostname": f"ap-{i + 1:03}", "building": pick(buildings), "floor": rnd.randrange(0, 5), "vendor": rnd.choices(["Aruba", "Cisco", "Ruckus"], [5, 4, 2])[0],
                    "wifi_standard": pick(["802.11ac", "802.11ax", "802.11be"]), "clients": rnd.randrange(0, limit + 30), "client_limit": limit,
                    "online": rnd.random() < 0.88, "installed_on": day("2017-01-01", "2026-09-01"), "firmware": pick(["8.10.2", "8.11.0", "10.4.1"])})
    switches = []
    for i in range(24):
        ports = pick([24, 48])
        switches.append({"hostname": f"{pick(['core', 'edge', 'dist'])}-sw-{i + 1:02}", "building": pick(buildings), "vendor": pick(["Cisco", "Juniper", "Arista"]),
                         "total_ports": ports, "used_ports": rnd.randrange(2, ports + 1), "uplink_gbps": pick([1, 10, 40, 100]), "poe": rnd.random() < 0.5,
                         "end_of_support": None if rnd.random() < 0.15 else day("2025-06-01", "2032-01-01"), "admin": {"team": pick(["network", "facilities"]), "pager": rnd.random() < 0.5}})
    subnets = []
    for i in range(18):
        size = pick([254, 510, 1022])
        subnets.append({"cidr": f"10.{20 + i}.0.0/{ {254: 24, 510: 23, 1022: 22}[size] }", "vlan_id": 100 + 10 * i, "purpose": pick(["students", "staff", "guests", "labs", "telephony"]),
                        "usable_addresses": size, "leased_addresses": rnd.randrange(0, size), "dhcp": rnd.random() < 0.8})
    tickets = []
    for i in range(40):
        tickets.append({"ticket": f"T-{880 + i}", "category": pick(["wifi", "cabling", "dns", "vpn"]), "severity": pick(["minor", "major", "critical"]),
                        "building": pick(buildings), "opened_at": day("2026-08-01", "2026-11-01"), "resolved_at": None if rnd.random() < 0.35 else day("2026-11-01", "2026-11-20"),
                        "reported_by": pick(["student", "lecturer", "visitor"])})
    return {"access_points": aps, "switches": switches, "subnets": subnets, "tickets": tickets}


class Questions:
    def __init__(self, estate):
        self.estate, self.rows = estate, []

    def add(self, kind, question, expected=None, value=None, tolerance=None):
        row = {"id": f"{self.estate}-{len(self.rows) + 1:02}", "estate": self.estate, "kind": kind, "question": question, "expected_answer": expected}
        if value is not None:
            row["expected_value"] = value
        if tolerance is not None:
            row["tolerance"] = tolerance
        self.rows.append(row)

    def count(self, question, records):
        self.add("count", question, len(list(records)))

    def groups(self, question, values):
        self.add("breakdown", question, dict(Counter(v for v in values if v is not None)))

    def number(self, question, value):
        self.add("number", question, round(value, 3), tolerance=0.051)

    def share(self, question, part, whole):
        self.add("share", question, round(100 * len(list(part)) / len(list(whole)), 1), tolerance=0.051)

    def top(self, question, counter, least=False, rank=0):
        values = sorted(set(counter.values()), reverse=not least)
        self.add("top", question, sorted(k for k, n in counter.items() if n == values[rank]), values[rank])

    def topn(self, question, counter, n):
        order = sorted(counter.items(), key=lambda kv: -kv[1])
        assert order[n - 1][1] > order[n][1], question
        self.add("topn", question, [{"value": k, "count": v} for k, v in order[:n]])

    def names(self, question, names):
        self.add("list", question, sorted(names))

    def yesno(self, question, records):
        n = len(list(records))
        self.add("yesno", question, "yes" if n else "no", n)

    def every(self, question, records, test):
        records = list(records)
        n = sum(map(test, records))
        self.add("yesno", question, "yes" if n == len(records) else "no", n)

    def missing(self, question):
        self.add("not_in_data", question)


def sums(records, by, of):
    out = Counter()
    for r in records:
        out[r[by]] += r[of]
    return out


def where(records, **kw):
    return [r for r in records if all(r[k] == v for k, v in kw.items())]


def col(records, f):
    return [r[f] for r in records]


def hospital_questions(e):
    q, d, o, w = Questions("hospital"), e["devices"], e["service_orders"], e["wards"]
    q.count("How many devices are there?", d)
    q.count("How many infusion pumps do we have?", where(d, device_type="infusion pump"))
    q.count("How many Philips monitors are in Cardiology?", where(d, manufacturer="Philips", device_type="patient monitor", department="Cardiology"))
    q.count("How many ventilators cost more than 20000?", [r for r in where(d, device_type="ventilator") if r["price_eur"] > 20000])
    q.count("How many devices cost between 10000 and 20000 euros?", [r for r in d if 10000 <= r["price_eur"] <= 20000])
    q.count("How many devices have a warranty until before 2027?", [r for r in d if r["warranty_until"] < "2027"])
    q.count("How many devices were purchased in 2020?", [r for r in d if r["purchase_date"].startswith("2020")])
    q.count("How many devices have no last service?", where(d, last_service=None))
    q.count("How many devices are not networked?", where(d, networked=False))
    q.count("How many devices are in repair or retired?", [r for r in d if r["status"] in ("in repair", "retired")])
    q.count("How many devices are made by Zoll or are in Radiology?", [r for r in d if r["manufacturer"] == "Zoll" or r["department"] == "Radiology"])
    q.groups("Devices per department", col(d, "department"))
    q.groups("Break down the ventilators by manufacturer", col(where(d, device_type="ventilator"), "manufacturer"))
    q.top("Which manufacturer has the most devices?", Counter(col(d, "manufacturer")))
    q.top("Which department has the second most devices?", Counter(col(d, "department")), rank=1)
    q.top("What is the most expensive device?", {r["asset_tag"]: r["price_eur"] for r in d})
    q.number("What is the average price of the defibrillators?", statistics.mean(col(where(d, device_type="defibrillator"), "price_eur")))
    q.number("What did all devices in Surgery cost in total?", sum(col(where(d, department="Surgery"), "price_eur")))
    q.share("What percentage of the devices is networked?", where(d, networked=True), d)
    q.yesno("Are there any retired ventilators?", where(d, device_type="ventilator", status="retired"))
    q.every("Are all ultrasound devices networked?", where(d, device_type="ultrasound"), lambda r: r["networked"])
    q.count("How many service orders are still open, i.e. have no closed date?", where(o, closed=None))
    q.count("How many urgent orders are there?", where(o, priority="urgent"))
    q.count("In how many service orders are the hours spent greater than the hours planned?", [r for r in o if r["hours_spent"] > r["hours_planned"]])
    q.count("How many orders were opened on or after 2026-06-01?", [r for r in o if r["opened"] >= "2026-06-01"])
    q.count("How many orders needed a battery?", [r for r in o if "battery" in r["parts"]])
    q.number("What is the total cost of Marino's orders?", sum(col(where(o, technician="Marino"), "cost_eur")))
    q.top("Which technician spent the most hours?", sums(o, "technician", "hours_spent"))
    q.names("Which wards are on floor 3?", col(where(w, floor=3), "name"))
    q.number("How many beds are there?", sum(col(w, "beds")))
    q.number("What is the ratio of occupied beds to beds?", sum(col(w, "occupied_beds")) / sum(col(w, "beds")))
    q.count("How many wards are there?", w)
    q.missing("How many devices were stolen?")
    q.missing("How many doctors work in Cardiology?")
    q.missing("What is the average weight of the ventilators?")
    return q.rows


def cluster_questions(e):
    q, n, p, c = Questions("cluster"), e["nodes"], e["pods"], e["persistent_volume_claims"]
    q.count("How many worker nodes are there?", where(n, role="worker"))
    q.count("How many nodes are not ready?", where(n, ready=False))
    q.count("How many nodes have 16 or more CPU cores?", [r for r in n if r["cpu_cores"] >= 16])
    q.number("What is the total memory of all nodes?", sum(col(n, "memory_gib")))
    q.names("List the control-plane nodes", col(where(n, role="control-plane"), "name"))
    q.groups("How many nodes are in each zone?", col(n, "zone"))
    q.count("How many nodes belong to the gpu pool?", [r for r in n if r["labels"]["pool"] == "gpu"])
    q.count("How many pods are running in the payments namespace?", where(p, phase="Running", namespace="payments"))
    q.count("How many pods are not scheduled on a node?", where(p, node=None))
    q.count("How many pods have restarted more than 5 times?", [r for r in p if r["restarts"] > 5])
    q.number("What's the average number of restarts?", statistics.mean(col(p, "restarts")))
    q.number("How many restarts did the pods in checkout have altogether?", sum(col(where(p, namespace="checkout"), "restarts")))
    q.groups("Show pods by phase", col(p, "phase"))
    q.groups("Number of failed pods per namespace", col(where(p, phase="Failed"), "namespace"))
    q.count("How many pods use redis?", where(p, image="redis:7.4"))
    q.count("How many pods have a memory limit greater than their memory request?", [r for r in p if r["memory_limit_mib"] > r["memory_request_mib"]])
    q.count("How many pod names start with search?", [r for r in p if r["name"].startswith("search")])
    q.count("How many pods are owned by a StatefulSet?", [r for r in p if r["owner"]["kind"] == "StatefulSet"])
    q.count("How many pods started after 2026-09-30?", [r for r in p if r["started_at"] > "2026-09-30T99"])
    q.top("Which namespace has the fewest pods?", Counter(col(p, "namespace")), least=True)
    q.share("What share of pods is pending?", where(p, phase="Pending"), p)
    q.yesno("Is there a failed pod in kube-system?", where(p, phase="Failed", namespace="kube-system"))
    q.every("Are all pods in monitoring running?", where(p, namespace="monitoring"), lambda r: r["phase"] == "Running")
    q.add("compare", "Are there more pods in search or in payments?",
          max(("search", "payments"), key=Counter(col(p, "namespace")).get), {k: Counter(col(p, "namespace"))[k] for k in ("search", "payments")})
    q.count("How many volume claims are there?", c)
    q.count("How many claims are unbound?", where(c, bound=False))
    q.number("What is the total capacity of the ssd claims?", sum(col(where(c, storage_class="ssd"), "capacity_gib")))
    q.count("How many claims allow ReadWriteMany?", [r for r in c if "ReadWriteMany" in r["access_modes"]])
    q.number("What is the difference between the capacity and the used space of all claims in GiB?", sum(col(c, "capacity_gib")) - sum(col(c, "used_gib")))
    q.count("How many claims use between 10 and 50 GiB?", [r for r in c if 10 <= r["used_gib"] <= 50])
    q.count("How many persistent volume claims were created in 2025?", [r for r in c if r["created"].startswith("2025")])
    q.missing("How many pods run in Frankfurt?")
    q.missing("What is the average network latency of the pods?")
    q.missing("How many ingresses are there?")
    return q.rows


def shipping_questions(e):
    q, v, t, c = Questions("shipping"), e["vessels"], e["voyages"], e["crew_members"]
    q.count("How many vessels do we operate?", v)
    q.count("How many ships are at sea?", where(v, status="at sea"))
    q.count("How many bulk carriers sail under the flag of Malta?", where(v, type="bulk carrier", flag="Malta"))
    q.count("How many tankers have a scrubber?", where(v, type="oil tanker", scrubber=True))
    q.count("How many vessels were built before 2005?", [r for r in v if r["built_year"] < 2005])
    q.count("How many ships were built between 2010 and 2015?", [r for r in v if 2010 <= r["built_year"] <= 2015])
    q.count("How many vessels have a deadweight above 100000?", [r for r in v if r["deadweight_t"] > 100000])
    q.count("How many vessels have more crew aboard than crew berths?", [r for r in v if r["crew_aboard"] > r["crew_berths"]])
    q.count("How many vessels are due for a survey before 2028?", [r for r in v if r["next_survey"] < "2028"])
    q.count("How many vessels use LNG or fly the flag of Norway?", [r for r in v if r["fuel"] == "LNG" or r["flag"] == "Norway"])
    q.groups("Vessels by flag", col(v, "flag"))
    q.groups("How many container ships per fuel?", col(where(v, type="container ship"), "fuel"))
    q.top("Which flag do most vessels have?", Counter(col(v, "flag")))
    q.top("What is the second largest vessel by deadweight?", {r["name"]: r["deadweight_t"] for r in v}, rank=1)
    q.top("Which vessel is the fastest?", {r["name"]: r["max_speed_kn"] for r in v})
    q.number("What is the average maximum speed of the car carriers?", statistics.mean(col(where(v, type="car carrier"), "max_speed_kn")))
    q.number("How many crew are aboard all vessels in total?", sum(col(v, "crew_aboard")))
    q.share("What percentage of vessels is in port?", where(v, status="in port"), v)
    q.names("Which vessels are in dry dock?", col(where(v, status="dry dock"), "name"))
    q.names("Which ships' names start with F?", [n for n in col(v, "name") if n.startswith("F")])
    q.yesno("Is any oil tanker registered in Singapore?", where(v, type="oil tanker", flag="Singapore"))
    q.every("Do all car carriers have a scrubber?", where(v, type="car carrier"), lambda r: r["scrubber"])
    q.count("How many voyages went from Rotterdam to Santos?", where(t, origin="Rotterdam", destination="Santos"))
    q.count("How many voyages have not arrived yet?", where(t, arrived=None))
    q.count("How many voyages took more actual days than planned days?", [r for r in t if r["actual_days"] > r["planned_days"]])
    q.count("How many voyages departed in March 2026?", [r for r in t if r["departed"].startswith("2026-03")])
    q.number("How much cargo was carried in total?", sum(col(t, "cargo_tonnes")))
    q.top("Which destination received the most cargo?", sums(t, "destination", "cargo_tonnes"))
    q.share("What share of the voyages was on time?", where(t, on_time=True), t)
    q.number("What is the longest distance?", max(col(t, "distance_nm")))
    q.count("How many captains are there?", where(c, rank="captain"))
    q.count("How many crew members are over 50?", [r for r in c if r["age"] > 50])
    q.count("How many seafarers hold the GMDSS certificate?", [r for r in c if "GMDSS" in r["certificates"]])
    q.count("How many crew members have a contract ending before 2027-03-01?", [r for r in c if r["contract_end"] < "2027-03-01"])
    q.groups("Crew members by nationality", col(c, "nationality"))
    q.missing("How many vessels carry helicopters?")
    q.missing("What is the average salary of the crew?")
    q.missing("How many ships are registered in Greece?")
    return q.rows


def campus_questions(e):
    q, a, s, n, t = Questions("campus"), e["access_points"], e["switches"], e["subnets"], e["tickets"]
    q.count("How many access points are there?", a)
    q.count("How many access points are offline?", where(a, online=False))
    q.count("How many Aruba access points are in the library?", where(a, vendor="Aruba", building="Library"))
    q.count("How many APs support 802.11ax?", where(a, wifi_standard="802.11ax"))
    q.count("How many access points have more clients than their client limit?", [r for r in a if r["clients"] > r["client_limit"]])
    q.count("How many access points were installed after 2022?", [r for r in a if r["installed_on"] >= "2023"])
    q.count("How many access points on floor 2 are from Cisco?", where(a, floor=2, vendor="Cisco"))
    q.number("What is the total number of clients?", sum(col(a, "clients")))
    q.number("What's the average number of clients in Physics?", statistics.mean(col(where(a, building="Physics"), "clients")))
    q.top("Which building has the most access points?", Counter(col(a, "building")))
    q.top("Which building has the most clients?", sums(a, "building", "clients"))
    q.groups("Access points by WiFi standard", col(a, "wifi_standard"))
    q.share("What fraction of the access points is online?", where(a, online=True), a)
    q.every("Are all Ruckus access points online?", where(a, vendor="Ruckus"), lambda r: r["online"])
    q.count("How many switches have fewer than 10 used ports?", [r for r in s if r["used_ports"] < 10])
    q.count("How many switches reach their end of support before 2027?", [r for r in s if r["end_of_support"] and r["end_of_support"] < "2027"])
    q.count("How many switches have no end of support?", where(s, end_of_support=None))
    q.count("How many switches have PoE and are from Juniper?", where(s, poe=True, vendor="Juniper"))
    q.count("How many switch hostnames begin with core?", [r for r in s if r["hostname"].startswith("core")])
    q.count("How many switches does the facilities team manage?", [r for r in s if r["admin"]["team"] == "facilities"])
    q.number("What is the ratio of used ports to total ports?", sum(col(s, "used_ports")) / sum(col(s, "total_ports")))
    q.number("How many unused ports are there, i.e. what is the difference between total ports and used ports?", sum(col(s, "total_ports")) - sum(col(s, "used_ports")))
    q.add("compare", "Do we have more Cisco or more Arista switches?",
          max(("Cisco", "Arista"), key=Counter(col(s, "vendor")).get), {k: Counter(col(s, "vendor"))[k] for k in ("Cisco", "Arista")})
    q.groups("Switches per vendor", col(s, "vendor"))
    q.count("How many subnets are used for guests?", where(n, purpose="guests"))
    q.yesno("Are there subnets without DHCP?", where(n, dhcp=False))
    q.number("How many addresses are leased in total?", sum(col(n, "leased_addresses")))
    q.count("How many critical tickets are there?", where(t, severity="critical"))
    q.count("How many tickets are unresolved?", where(t, resolved_at=None))
    q.count("How many tickets were opened in September 2026?", [r for r in t if r["opened_at"].startswith("2026-09")])
    q.count("How many wifi tickets were reported by students?", where(t, category="wifi", reported_by="student"))
    q.groups("Major tickets by building", col(where(t, severity="major"), "building"))
    q.top("Which category has the most tickets?", Counter(col(t, "category")))
    q.missing("How many printers are on campus?")
    q.missing("How many switches are water-cooled?")
    q.missing("What is the power consumption of the switches?")
    return q.rows


def write(name, *domains):
    """Writes an estate for each domain, a function that returns one and a function that returns questions about it, and the set of all
    questions."""
    rows = []
    for make, ask in domains:
        made = make()
        rows += ask(made)
        with open(f"{make.__name__}.json", "w", encoding="utf-8") as f:
            f.write(json.dumps(made, indent=1) + "\n")
    with open(f"{name}.jsonl", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)


def main():
    made = {}
    for make in (hospital, cluster, shipping, campus):
        made[make.__name__] = make()
        with open(f"{make.__name__}.json", "w", encoding="utf-8") as f:
            arrays = [f' "{k}": [\n' + ",\n".join("  " + json.dumps(r) for r in v) + "\n ]" for k, v in made[make.__name__].items()]
            f.write("{\n" + ",\n".join(arrays) + "\n}\n")
    for name, rows in (("dev", hospital_questions(made["hospital"]) + cluster_questions(made["cluster"])),
                       ("heldout", shipping_questions(made["shipping"]) + campus_questions(made["campus"]))):
        with open(f"{name}.jsonl", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)


if __name__ == "__main__":
    main()
