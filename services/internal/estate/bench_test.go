package estate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"cairn/services/internal/estate"
)

func BenchmarkParse(b *testing.B) {
	text := readEval(b, "limit.json")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := estate.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// requestBody returns an analyze request with the largest estate.
func requestBody(tb testing.TB) []byte {
	tb.Helper()
	body, err := json.Marshal(map[string]string{
		"query": "how many vulnerabilities?", "target": "H", "context": string(readEval(tb, "limit.json")),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func BenchmarkSplitBody(b *testing.B) {
	body := requestBody(b)
	b.Run("estate", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := estate.SplitBody(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("its context", func(b *testing.B) {
		split, err := estate.SplitBody(body)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(split.Context)))
		b.ReportAllocs()
		for b.Loop() {
			estate.Unquote(split.Context)
		}
	})
}

// BenchmarkFirstAnswer measures the work of this package from the last byte of a body to
// the first tool result.
func BenchmarkFirstAnswer(b *testing.B) {
	body := requestBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		split, err := estate.SplitBody(body)
		if err != nil {
			b.Fatal(err)
		}
		e, err := estate.Read(b.Context(), estate.Unquote(split.Context))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Stats(b.Context(),
			estate.Query{DataKey: "gcp_machine_types", GroupBy: estate.GroupBy{"series"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCalls measures calls of every kind on an estate whose columns are cached.
func BenchmarkCalls(b *testing.B) {
	e := parse(b, string(readEval(b, "limit-text.json")))
	for _, key := range e.Keys() { // reads the columns
		if _, err := e.Inspect(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
	for _, received := range []string{
		`{"data_key":"product_versions","group_by":"product"}`,
		`{"data_key":"product_versions","group_by":"version"}`,
		`{"data_key":"product_versions","group_by":"product","metrics":["distinct:version","distinct:date"]}`,
		`{"data_key":"product_versions","filter":{"version":{"contains":"1"},"date":{"gte":"2020"}}}`,
		`{"data_key":"product_versions","filter":{"version":{"in":["1.0","2.0"]}},"group_by":"date"}`,
		`{"data_key":"gcp_machine_types","group_by":"zone","metrics":["p95:memory_gb","p50:cpus","avg:cpus","max:cpus"]}`,
		`{"data_key":"gcp_machine_types","filter":{"memory_gb":{"gt":16},"series":{"ne":"n2"}},"metrics":["sum:cpus"]}`,
		`{"data_key":"ec2_instance_types","group_by":"memory.type","filter":{"cpu":{"exists":true}}}`,
		`{"data_key":"vulnerabilities","filter":{"cwes":{"contains":"CWE-59"}},"group_by":"vendorProject"}`,
	} {
		b.Run(received, func(b *testing.B) {
			q := query(b, received)
			for b.Loop() {
				if _, err := e.Stats(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// exportOf returns an export of about size bytes in the shape of aws ec2 describe-instances, and the same instances as
// one flat array.
func exportOf(size int) (nested, flat []byte) {
	instance := func(i int) string {
		return fmt.Sprintf(`{"InstanceId":"i-%08x","InstanceType":"%s","State":{"Code":16,"Name":"%s"},`+
			`"Placement":{"AvailabilityZone":"eu-west-1%c","Tenancy":"default"},"LaunchTime":"2026-%02d-11T08:00:00+00:00",`+
			`"SecurityGroups":[{"GroupName":"web","GroupId":"sg-%d"}],`+
			`"BlockDeviceMappings":[{"DeviceName":"/dev/xvda","Ebs":{"VolumeId":"vol-%08x","DeleteOnTermination":true}}],`+
			`"Tags":[{"Key":"Name","Value":"app-%d"},{"Key":"env","Value":"%s"}]}`,
			i, []string{"t3.micro", "m5.large", "c6g.xlarge"}[i%3], []string{"running", "stopped"}[i%7/6], 'a'+i%3, 1+i%12, i%5,
			i, i,
			[]string{"prod", "dev", "test"}[i%11%3])
	}
	var a, b bytes.Buffer
	a.WriteString(`{"Reservations":[`)
	b.WriteString(`{"Instances":[`)
	for i := 0; a.Len() < size; i += 2 {
		if i > 0 {
			a.WriteByte(',')
			b.WriteByte(',')
		}
		fmt.Fprintf(&a, `{"ReservationId":"r-%08x","OwnerId":"111122223333","Groups":[],"Instances":[%s,%s]}`, i, instance(i),
			instance(i+1))
		fmt.Fprintf(&b, `%s,%s`, instance(i), instance(i+1))
	}
	a.WriteString(`]}`)
	b.WriteString(`]}`)
	return a.Bytes(), b.Bytes()
}

// BenchmarkNested measures reading an export and counting its nested records by a field, beside the same records in
// one array.
func BenchmarkNested(b *testing.B) {
	for _, size := range []int{1 << 20, 10 << 20} {
		nested, flat := exportOf(size)
		for _, row := range []struct {
			name string
			text []byte
			key  string
		}{{"nested", nested, "Reservations.Instances"}, {"flat", flat, "Instances"}} {
			b.Run(fmt.Sprintf("%s %d MiB", row.name, size>>20), func(b *testing.B) {
				b.SetBytes(int64(len(row.text)))
				b.ReportAllocs()
				for b.Loop() {
					e, err := estate.Parse(row.text)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := e.Stats(b.Context(),
						estate.Query{DataKey: row.key, GroupBy: estate.GroupBy{"InstanceType"}}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
