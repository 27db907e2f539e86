package embed

import "strings"

// family holds the settings of one family of models. Most were trained with prefixes
// that distinguish queries from documents and perform worse without.
type family struct {
	match    string // substring of the lower-case model name
	query    string
	document string
	floor    float64
}

const (
	passages = "Represent this sentence for searching relevant passages: "
	instruct = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	// Measured with all-MiniLM-L6-v2 on 50 off-topic texts and the best cosine of
	// 2,616 answerable requests. At 0.20: 50 % of off-topic texts and 1.3 % of
	// requests are rejected among 199 skills, 12 % and 0 % among 4,076. At 0.15: 16 %
	// and 0 %; at 0.25: 84 % and 5.3 %.
	miniLMFloor = 0.20
	// Unmeasured: prefer recall. Most models have higher cosines than MiniLM and
	// need a calibrated floor.
	cautiousFloor = 0.10
)

// families lists the known families; the first match applies. Each row is from the
// model card of that name on huggingface.co; * stands for all sizes.
var families = []family{
	// nomic-ai/nomic-embed-text-v1.5, -v2-moe
	{"nomic-embed-text", "search_query: ", "search_document: ", cautiousFloor},
	// nomic-ai/nomic-embed-code
	{"nomic-embed-code", "Represent this query for searching relevant code: ", "", cautiousFloor},
	// mixedbread-ai/mxbai-embed-large-v1
	{"mxbai-embed", passages, "", cautiousFloor},
	// arctic-embed-l-v2 in Ollama
	{"snowflake-arctic-embed2", "query: ", "", cautiousFloor},
	// Snowflake/snowflake-arctic-embed-l-v2.0
	{"arctic-embed-l-v2", "query: ", "", cautiousFloor},
	// Snowflake/snowflake-arctic-embed-m-v2.0
	{"arctic-embed-m-v2", "query: ", "", cautiousFloor},
	// Snowflake/snowflake-arctic-embed-*
	{"arctic-embed", passages, "", cautiousFloor},
	// BAAI/bge-m3: no instruction
	{"bge-m3", "", "", cautiousFloor},
	{"bge-", passages, "", cautiousFloor}, // BAAI/bge-*-en-v1.5
	// intfloat/e5-mistral-7b-instruct
	{"e5-mistral", instruct + " ", "", cautiousFloor},
	// intfloat/multilingual-e5-large-instruct
	{"e5-large-instruct", instruct + " ", "", cautiousFloor},
	// intfloat/e5-*-v2, multilingual-e5-*
	{"e5-", "query: ", "passage: ", cautiousFloor},
	// Qwen/Qwen3-Embedding-*
	{"qwen3-embedding", instruct, "", cautiousFloor},
	// google/embeddinggemma-300m
	{"embeddinggemma", "task: search result | query: ", "title: none | text: ", cautiousFloor},
	{"minilm", "", "", miniLMFloor}, // sentence-transformers/all-MiniLM-L6-v2: none
	{"", "", "", cautiousFloor},     // granite-embedding, gte and others: none
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
