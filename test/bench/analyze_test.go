package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"
)

// questions refer to the largest estate.
var questions = []string{
	"How many instance types come in 2xlarge?",
	"Intel vs AMD, how many instance types each?",
	"How many vulnerabilities are there?",
	"How many instance types are NUMA machines?",
}

// estateName occurs once in the estate's text; replacing it with a name of the same length
// gives a different estate.
const estateName = "multi-cloud reference estate"

// BenchmarkAnalyzeFirstEvent compares the time to the first event of an analysis whose
// body is just below the limit with the time that encoding/json takes to decode the estate.
// Each body is different, so each estate is parsed; the "cached" metrics are for a second
// question about the same estate.
func BenchmarkAnalyzeFirstEvent(b *testing.B) {
	text := largestEstate(b)
	c := dial(b, up(b).at)
	var first, read, again []float64
	for i := range rounds(b) + 1 {
		name := fmt.Sprintf("%-*d", len(estateName), i)
		text := bytes.Replace(text, []byte(estateName), []byte(name), 1)
		one := firstEvent(b, c, questions[i%len(questions)], text)
		two := firstEvent(b, c, questions[(i+1)%len(questions)], text)
		began := time.Now()
		var v any
		must(b, json.Unmarshal(text, &v))
		if i == 0 {
			continue // warm-up
		}
		first, again = append(first, one), append(again, two)
		read = append(read, milliseconds(time.Since(began)))
	}
	report(b, "first-ms", first, read)
	b.ReportMetric(median(again), "cairn-cached-ms")
	b.ReportMetric(median(ratios(again, read)), "cached-ms-ratio")
}

// firstEvent sends a question and returns the time to the first event in milliseconds.
func firstEvent(b *testing.B, c *client, question string, estate []byte) float64 {
	b.Helper()
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	must(b, encoder.Encode(map[string]string{"query": question, "target": "H", "context": string(estate)}))
	began := time.Now()
	must(b, c.send("/api/v1/analyze", body.Bytes()))
	res, err := http.ReadResponse(c.in, nil)
	must(b, err)
	head := make([]byte, len("id: 1\nevent: "))
	_, err = io.ReadFull(res.Body, head)
	took := milliseconds(time.Since(began))
	rest, _ := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.HasSuffix(rest, []byte("event: done\ndata: {}\n\n")) {
		b.Fatalf("analyze: %d %v %s%s", res.StatusCode, err, head, rest)
	}
	return took
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func largestEstate(b *testing.B) []byte {
	b.Helper()
	file, err := os.Open(evaluation(b, "estates", "limit.json.gz"))
	must(b, err)
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	must(b, err)
	text, err := io.ReadAll(unzipped)
	must(b, err)
	if bytes.Count(text, []byte(estateName)) != 1 {
		b.Fatalf("want %q in the estate once", estateName)
	}
	return text
}
