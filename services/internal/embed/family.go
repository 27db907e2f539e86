package embed

import "strings"

// family is what models of one family want. Most were trained with a prefix
// that tells a query from what it looks for, and do worse without.
type family struct {
	match    string // a part of the model's name in lower case
	query    string
	document string
	floor    float64
}

const (
	passages = "Represent this sentence for searching relevant passages: "
	instruct = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	// Found with all-MiniLM-L6-v2, 50 greetings, sayings and noises, and the best
	// cosine of any part of 2,616 requests with an answer. Among 199 skills 0.20
	// refuses 50 % of the noise and 1.3 % of the requests, among 4,076 skills 12 %
	// and none; 0.15 refuses 16 % and 0 %, 0.25 refuses 84 %, but 5.3 % of the
	// requests.
	miniLMFloor = 0.20
	// Nothing was measured: better to find too much. Most models give all
	// texts higher cosines than MiniLM does; they want a floor of their own.
	cautiousFloor = 0.10
)

// families: the first that matches counts. Each row is from the model card of
// that name on huggingface.co; * stands for all sizes.
var families = []family{
	{"nomic-embed-text", "search_query: ", "search_document: ", cautiousFloor},                    // nomic-ai/nomic-embed-text-v1.5, -v2-moe
	{"nomic-embed-code", "Represent this query for searching relevant code: ", "", cautiousFloor}, // nomic-ai/nomic-embed-code
	{"mxbai-embed", passages, "", cautiousFloor},                                                  // mixedbread-ai/mxbai-embed-large-v1
	{"snowflake-arctic-embed2", "query: ", "", cautiousFloor},                                     // Snowflake/snowflake-arctic-embed-l-v2.0, by its name at Ollama
	{"arctic-embed-l-v2", "query: ", "", cautiousFloor},                                           // Snowflake/snowflake-arctic-embed-l-v2.0
	{"arctic-embed-m-v2", "query: ", "", cautiousFloor},                                           // Snowflake/snowflake-arctic-embed-m-v2.0
	{"arctic-embed", passages, "", cautiousFloor},                                                 // Snowflake/snowflake-arctic-embed-*
	{"bge-m3", "", "", cautiousFloor},                                                             // BAAI/bge-m3: no instruction
	{"bge-", passages, "", cautiousFloor},                                                         // BAAI/bge-*-en-v1.5
	{"e5-mistral", instruct + " ", "", cautiousFloor},                                             // intfloat/e5-mistral-7b-instruct
	{"e5-large-instruct", instruct + " ", "", cautiousFloor},                                      // intfloat/multilingual-e5-large-instruct
	{"e5-", "query: ", "passage: ", cautiousFloor},                                                // intfloat/e5-*-v2, intfloat/multilingual-e5-*
	{"qwen3-embedding", instruct, "", cautiousFloor},                                              // Qwen/Qwen3-Embedding-*
	{"embeddinggemma", "task: search result | query: ", "title: none | text: ", cautiousFloor},    // google/embeddinggemma-300m
	{"minilm", "", "", miniLMFloor},                                                               // sentence-transformers/all-MiniLM-L6-v2: none
	{"", "", "", cautiousFloor},                                                                   // granite-embedding, gte, jina-embeddings-v2, paraphrase-multilingual: none
}

func familyOf(model string) family {
	model = strings.ToLower(model)
	for _, f := range families {
		if strings.Contains(model, f.match) {
			return f
		}
	}
	panic("the last family matches every model")
}
