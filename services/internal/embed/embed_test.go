package embed_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/embed"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"stop words go, the others are stemmed", "What can I do with the certificates?", []string{"certif"}},
		{"an apostrophe of a word processor", "I’d see what’s new in Ann’s host", []string{"see", "new", "ann", "host"}},
		{"names of operations are taken apart", "aws.ec2.list_vlans", []string{"aw", "ec2", "list", "vlan"}},
		{"joined words count as one and as their parts", "listVLANs", []string{"listvlan", "list", "vlan"}},
		{"full-width letters are ordinary ones", "\uff36\uff2c\uff21\uff2e", []string{"vlan"}},
		{"other scripts stay", "Überwachung Сервер", []string{"überwachung", "сервер"}},
		{"nothing but marks", " !? -- ", []string{}},
	} {
		if diff := cmp.Diff(row.want, embed.Words(row.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestSplitNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"jira.createForIssue":                  "jira.create For Issue",
		"create_for_issue":                     "create for issue",
		"use listVLANs, then getHost2":         "use list VLANs, then get Host2",
		"PowerPoint, GitHub and iOS are names": "PowerPoint, GitHub and iOS are names",
		"":                                     "",
	} {
		if got := embed.SplitNames(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCorrect(t *testing.T) {
	t.Parallel()
	unknown := strings.Repeat("grfana ", 40)
	for _, row := range []struct{ name, text, want string }{
		{"a missing letter", "the certficates", "the certificates"},
		{"a letter too much", "certifficates!", "certificates!"},
		{"a wrong letter", "Certigicates", "certificates"},
		{"two letters swapped", "netwrok ports", "network ports"}, //nolint:misspell // the test
		{"the most frequent word", "servise", "service"},
		{"a word of six letters without one of them", "bacup", "backup"},
		{"a short word stays", "vlna", "vlna"},
		{"a word of the dictionary and its plural stay", "certificates of backups", "certificates of backups"},
		{"words without a similar one stay", "xyzzyx plughq", "xyzzyx plughq"},
		{"words with digits and other scripts stay", "netw0rk Überwachnug", "netw0rk Überwachnug"},
		{"few of many unknown words are corrected", unknown + "certficates", unknown + "certficates"},
		{"no text", "", ""},
	} {
		if got := embed.Correct(row.text); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "lexical", "static", "lexical:4096", "ollama//host", "magic://host/model"} {
		_, err := embed.Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), "static:, lexical:") {
			t.Errorf("open %q: got %v, want an error that lists the supported schemes", url, err)
		}
	}
}

func TestLexical(t *testing.T) {
	t.Parallel()
	e, err := embed.Open(t.Context(), "lexical:")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"list the virtual networks", "virtual network listing", "brew coffee", "the of !"}
	got, err := e.Embed(t.Context(), embed.Query, texts)
	if err != nil || len(got) != len(texts) {
		t.Fatalf("embed %d texts: got %d vectors, %v", len(texts), len(got), err)
	}
	for i, v := range got {
		if len(v) != e.Space().Dimensions {
			t.Errorf("%q: got %d dimensions, want %d", texts[i], len(v), e.Space().Dimensions)
		}
	}
	if near, far := cosine(got[0], got[1]), cosine(got[0], got[2]); near < 0.5 || far > 0.2 {
		t.Errorf("cosines: same words %.2f, want at least 0.5; other words %.2f, want at most 0.2", near, far)
	}
	if length(got[3]) != 0 {
		t.Error("a text without content: got a vector, want zeros")
	}
}

func cosine(a, b []float32) float64 { return dot(a, b) / (length(a) * length(b)) }

func length(v []float32) float64 { return math.Sqrt(dot(v, v)) }

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}
