package served_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, value string
		want        served.Settings
		message     string // of the error; empty: none
	}{
		{"num_ctx", "4096", served.Settings{NumCtx: 4096}, ""},
		{"num_ctx", "0", served.Settings{}, "num_ctx=0: expected a positive number of tokens"},
		{"num_ctx", "many", served.Settings{}, "num_ctx=many: expected a positive number of tokens"},
		{"first_chunk", "5s", served.Settings{FirstChunk: 5 * time.Second}, ""},
		{"first_chunk", "60", served.Settings{}, "first_chunk=60: expected a positive duration such as 60s"},
		{"plan", "schema", served.Settings{Plan: model.PlanSchema}, ""},
		{"plan", "tools", served.Settings{Plan: model.PlanTools}, ""},
		{"plan", "", served.Settings{}, "plan=: expected schema or tools"},
		{"answers", "stated", served.Settings{Answers: model.AnswersStated}, ""},
		{"answers", "written", served.Settings{Answers: model.AnswersWritten}, ""},
		{"answers", "forwarded", served.Settings{Answers: model.AnswersForwarded}, ""},
		{"answers", "Stated", served.Settings{}, "answers=Stated: expected stated, written or forwarded"},
	} {
		t.Run(row.name+"="+row.value, func(t *testing.T) {
			t.Parallel()
			var got served.Settings
			ok, err := got.Set(row.name, row.value)
			switch {
			case !ok:
				t.Error("the setting is unknown")
			case row.message != "":
				if err == nil || err.Error() != row.message {
					t.Errorf("error %v, want %s", err, row.message)
				}
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("settings (-want +got):\n%s", diff)
				}
			}
		})
	}
	if ok, err := new(served.Settings).Set("temperature", "1"); ok || err != nil {
		t.Errorf("an unknown setting: %v, %v, want false", ok, err)
	}
}

func TestReadingTime(t *testing.T) {
	t.Parallel()
	// 1,700 tokens of 3 bytes, 40 a second.
	got := served.ReadingTime([]string{strings.Repeat("a", 3000)}, []string{strings.Repeat("b", 2100)})
	if got.Round(time.Second) != 43*time.Second {
		t.Errorf("reading time %v, want 43s", got)
	}
}
