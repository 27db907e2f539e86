package a2a

import (
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"cairn/bus"
)

// Path is the path of the interface, below the URL of the edge.
const Path = "/a2a"

// Card returns the agent card (8.5) of the analysis agent at the URL. A secured edge accepts
// API keys, and the tokens of the issuers.
func Card(base string, secured bool, issuers []string) ([]byte, error) {
	text, data := []string{mediaText, mediaMarkdown}, []string{mediaJSON}
	card := a2a.AgentCard{
		Name: "Cairn",
		Description: "Answers questions about a JSON document, such as an inventory or a list of tickets. Every figure of the " +
			"answer is computed from the document, and the tool results that it comes from are named.",
		Version: bus.Version,
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+Path, a2a.TransportProtocolJSONRPC),
		},
		DocumentationURL:   base + "/docs/a2a",
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  append(text, data...),
		DefaultOutputModes: []string{mediaMarkdown, mediaJSON},
		Skills: []a2a.AgentSkill{{
			ID:   "analyze",
			Name: "Answer a question about a document",
			Description: "Send the question as text, and the document, an object or array with arrays of records, as data or as a " +
				"file of JSON. The answer is Markdown, streamed while it is written.",
			Tags: []string{"analysis", "json", "statistics", "question answering", "provenance"},
			Examples: []string{"How many servers run an operating system without support, by site?",
				"Which team has the most open tickets?"},
		}, {
			ID:   "compute",
			Name: "Compute figures of a document without a language model",
			Description: "Send the document as data, and calls of the functions inspect_schema and compute_stats in the metadata cairn.calls. " +
				"The results are counts, sums and other figures by group.",
			Tags:       []string{"analysis", "json", "statistics", "aggregation"},
			InputModes: data, OutputModes: data,
		}},
	}
	if secured {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{
			"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer",
				Description: "an API key of Cairn, or a token of an OpenID provider"},
		}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": {}}}
		for _, issuer := range issuers {
			name := a2a.SecuritySchemeName(issuer)
			card.SecuritySchemes[name] = a2a.OpenIDConnectSecurityScheme{
				OpenIDConnectURL: strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration",
			}
			card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirements{name: {}})
		}
	}
	return json.Marshal(card)
}
