// Bulkindexer writes the documents of a file to an index with the bulk indexer of the
// Elasticsearch client for Go in its default configuration, and prints the number of
// seconds until all documents are searchable. It is a separate program because its
// dependency takes minutes to compile.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/elastic/go-elasticsearch/v8/esutil"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "want a server, an index and a file of bulk operations")
		os.Exit(2)
	}
	took, err := run(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(took.Seconds())
}

func run(server, index, file string) (time.Duration, error) {
	at, err := url.Parse(server)
	if err != nil {
		return 0, err
	}
	client, err := elastictransport.NewClient(elastictransport.WithURLs(at))
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	items, err := read(text)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = write(client, index, items)
	return time.Since(began), err
}

// read parses operations: an action on one line, the document on the next.
func read(text []byte) (items []esutil.BulkIndexerItem, err error) {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for i := 0; i+1 < len(lines); i += 2 {
		var do struct {
			Index struct {
				ID      string `json:"_id"`
				Version int64  `json:"version"`
				Type    string `json:"version_type"`
			} `json:"index"`
		}
		if err := json.Unmarshal(lines[i], &do); err != nil {
			return nil, err
		}
		items = append(items, esutil.BulkIndexerItem{
			Action: "index", DocumentID: do.Index.ID, Version: &do.Index.Version, VersionType: do.Index.Type,
			Body: bytes.NewReader(lines[i+1]),
		})
	}
	return items, nil
}

func write(client *elastictransport.Client, index string, items []esutil.BulkIndexerItem) error {
	ctx := context.Background()
	bulk, err := esutil.NewBulkIndexer(esutil.BulkIndexerConfig{Client: client, Index: index})
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := bulk.Add(ctx, item); err != nil {
			return err
		}
	}
	if err := bulk.Close(ctx); err != nil {
		return err
	}
	if s := bulk.Stats(); s.NumFailed > 0 {
		return fmt.Errorf("%d documents were not written", s.NumFailed)
	}
	res, err := esapi.IndicesRefreshRequest{Index: []string{index}}.Do(ctx, client)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New("refresh: " + res.Status())
	}
	return nil
}
