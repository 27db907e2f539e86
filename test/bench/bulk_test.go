package bench

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

const (
	// bulkRecords is the number of records of a bulk request.
	bulkRecords = 5000
	// singleRecords is the number of records that are registered one by one for comparison.
	singleRecords = 250
	bulkRounds    = 3
)

// BenchmarkBulk compares the registration of 5,000 skills in one bulk request with single
// registrations over one connection, and over 16. Every record is searchable at the end.
func BenchmarkBulk(b *testing.B) {
	b.Run("index=embedded", func(b *testing.B) { bulkRegistration(b, "embedded:", func(int) bool { return true }) })
	b.Run("index=elasticsearch", func(b *testing.B) {
		elastic, prefix := elasticServer(b)
		bulkRegistration(b, elastic+prefix, func(n int) bool {
			return count(b, elastic, strings.TrimPrefix(prefix, "?prefix=")+"-skill") >= n
		})
	})
}

// bulkRegistration compares with the index. searchable reports whether it has n skills.
func bulkRegistration(b *testing.B, index string, searchable func(n int) bool) {
	b.Helper()
	url := "http://" + up(b, "--index", index).address
	var last atomic.Int64
	next := func() string {
		n := last.Add(1)
		return fmt.Sprintf(`{"skill_id":"bench.skill_%d","purpose":"Audit the configuration of device %d against policy %d",`+
			`"capabilities":["audit","compare configurations"],"description":"Reads the configuration of a device and reports deviations."}`, n, n, n%97)
	}
	rate := func(records int, register func()) float64 {
		began := time.Now()
		register()
		for !searchable(int(last.Load())) { // records that were not confirmed in time under load
			if time.Since(began) > 10*time.Minute {
				b.Fatal("not all records can be found")
			}
			time.Sleep(time.Millisecond)
		}
		return float64(records) / time.Since(began).Seconds()
	}
	singles := func(connections int) float64 {
		return rate(singleRecords, func() {
			var sending errgroup.Group
			var left atomic.Int64
			left.Store(singleRecords)
			client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
			defer client.CloseIdleConnections()
			for range connections {
				sending.Go(func() error {
					for left.Add(-1) >= 0 {
						if _, err := registerOne(&client, url, next()); err != nil {
							return err
						}
					}
					return nil
				})
			}
			must(b, sending.Wait())
		})
	}
	bulk := func() float64 {
		var body strings.Builder
		for range bulkRecords {
			_, _ = fmt.Fprintf(&body, `{"kind":"skill","record":%s}`+"\n", next())
		}
		return rate(bulkRecords, func() { must(b, registerBulk(url, body.String())) })
	}
	wait.Until(b, "a record is searchable at once", func() bool { // the index is created
		text, err := registerOne(http.DefaultClient, url, next())
		return err == nil && !bytes.Contains(text, []byte(`"indexed":false`))
	})
	singles(1)
	bulk() // warm-up
	var single, concurrent, whole []float64
	for range bulkRounds {
		single, concurrent, whole = append(single, singles(1)), append(concurrent, singles(16)), append(whole, bulk())
	}
	report(b, "records/s", whole, single)
	b.ReportMetric(median(concurrent), "16-connections-records/s")
	b.ReportMetric(median(ratios(whole, concurrent)), "16-connections-ratio")
}

// registerOne registers a record and returns the body of the response.
func registerOne(client *http.Client, url, record string) (text []byte, err error) {
	res, err := client.Post(url+"/register/skill", "application/json", strings.NewReader(`{"record":`+record+`}`))
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err = io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return text, err
}

func registerBulk(url, body string) error {
	res, err := http.Post(url+"/records", "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	results := 0
	for lines := bufio.NewScanner(res.Body); lines.Scan(); results++ {
		if line := lines.Bytes(); !bytes.Contains(line, []byte(`"revision"`)) {
			return fmt.Errorf("result %d: %s", results, line)
		}
	}
	if results != bulkRecords {
		return fmt.Errorf("%d results of %d records", results, bulkRecords)
	}
	return nil
}

// count returns the number of searchable documents in the index.
func count(b *testing.B, elastic, index string) int {
	b.Helper()
	var counted struct{ Count int }
	_, text := cairntest.Get(b, elastic+"/"+index+"/_count")
	must(b, json.Unmarshal([]byte(text), &counted))
	return counted.Count
}

// elasticServer returns the address of the server, and the query string of an index URL
// with a unique prefix, whose indices are deleted at the end.
func elasticServer(b *testing.B) (url, prefix string) {
	b.Helper()
	url = strings.TrimRight(os.Getenv("CAIRN_TEST_ELASTICSEARCH"), "/")
	if url == "" {
		b.Skip("CAIRN_TEST_ELASTICSEARCH names no Elasticsearch")
	}
	name := "cairn-bench-" + strings.ToLower(rand.Text()[:10])
	b.Cleanup(func() {
		_, text := cairntest.Get(b, url+"/_cat/indices/"+name+"-*?h=index")
		list := strings.Fields(text)
		deletion, err := http.NewRequest(http.MethodDelete, url+"/"+strings.Join(list, ","), nil)
		must(b, err)
		res, err := http.DefaultClient.Do(deletion)
		must(b, err)
		_ = res.Body.Close()
	})
	return url, "?prefix=" + name
}
