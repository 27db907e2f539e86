package index

func encodeLookups(lookups []lookup) ([]byte, error) {
	var lines []any
	for _, l := range lookups {
		lines = append(lines, object{}, l.body)
	}
	return encode(lines...)
}

// answered is the response to one lookup.
var answered = []string{
	"responses.status", "responses.error.type", "responses.error.reason",
	"responses.hits.hits._index", "responses.hits.hits._score", "responses.hits.hits.fields",
}

// answers are the responses to the lookups, in order.
type answers struct {
	Responses []response `json:"responses"`
}

type response struct {
	Status int     `json:"status"`
	Error  failure `json:"error"`
	Hits   struct {
		Hits []struct {
			Index  string  `json:"_index"`
			Score  float64 `json:"_score"`
			Fields struct {
				ID []string `json:"id"`
			} `json:"fields"`
		} `json:"hits"`
	} `json:"hits"`
}

func (r response) matches(score func(float64) float64) []match {
	var list []match
	for _, h := range r.Hits.Hits {
		if s := score(h.Score); s > 0 && len(h.Fields.ID) == 1 {
			list = append(list, match{h.Fields.ID[0], s})
		}
	}
	return first(list)
}
