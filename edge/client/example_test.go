package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/edge/client"
	"cairn/schemas"
)

func Example() {
	c, err := client.New(client.Config{URL: address})
	if err != nil {
		log.Fatal(err)
	}
	ctx, tenant := context.Background(), "example"
	_, err = c.Put(ctx, schemas.PutRecord{
		Kind: schemas.KindSkill, ID: "storage.capacity", TenantID: &tenant,
		Record: jsontext.Value(`{"purpose": "Find volumes that are nearly full"}`),
	}, schemas.Precondition{})
	if err != nil {
		log.Fatal(err)
	}
	hits, err := c.SearchSkills(ctx,
		schemas.SkillQuery{Query: "full volumes", QueryOptions: schemas.QueryOptions{TenantID: &tenant}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(hits.Skills), "skill")
	// Output: 1 skill
}

// Replace a record only if no one else has replaced it since it was read.
func ExampleClient_Put() {
	c, err := client.New(client.Config{URL: address})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	put := schemas.PutRecord{Kind: schemas.KindAgent, ID: "example.put", Record: jsontext.Value(`{"purpose": "first"}`)}
	first, err := c.Put(ctx, put, schemas.Precondition{})
	if err != nil {
		log.Fatal(err)
	}
	put.Record = jsontext.Value(`{"purpose": "second"}`)
	if _, err := c.Put(ctx, put, schemas.Precondition{}); err != nil { // another writer
		log.Fatal(err)
	}
	_, err = c.Put(ctx, put, schemas.Precondition{IfMatch: first.ETag})
	fmt.Println(errors.Is(err, schemas.ErrPreconditionFailed))
	// Output: true
}

func ExampleClient_List() {
	c, err := client.New(client.Config{URL: address})
	if err != nil {
		log.Fatal(err)
	}
	ctx, tenant := context.Background(), "example-list"
	for _, id := range []string{"netbox.vlans.list", "netbox.sites.list"} {
		put := schemas.PutRecord{Kind: schemas.KindTool, ID: id, TenantID: &tenant, Record: jsontext.Value(`{}`)}
		if _, err := c.Put(ctx, put, schemas.Precondition{}); err != nil {
			log.Fatal(err)
		}
	}
	for record, err := range c.List(ctx, schemas.RecordQuery{Kind: schemas.KindTool, TenantID: &tenant}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(record.ID)
	}
	// Output:
	// netbox.sites.list
	// netbox.vlans.list
}
