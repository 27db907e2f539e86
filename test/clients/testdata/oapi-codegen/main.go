// Command main registers and resolves a skill and streams an analysis with the client that
// oapi-codegen generates.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("CAIRN_KEY"))
		return nil
	}
	c, err := NewClientWithResponses(os.Getenv("CAIRN_URL"), WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	purpose := "Registered by a client of oapi-codegen"
	registered, err := c.PostRegisterSkillWithResponse(ctx, nil,
		RegisterSkill{Record: Skill{SkillId: "clients.oapi", Purpose: &purpose}})
	if err != nil || registered.JSON200 == nil {
		log.Fatal(err, string(registered.Body))
	}
	revision, id := registered.HTTPResponse.Header.Get("Cairn-Revision"), "clients.oapi"
	resolved, err := c.PostResolveSkillWithResponse(ctx, &PostResolveSkillParams{CairnMinRevision: &revision},
		SkillQuery{SkillId: &id})
	if err != nil || resolved.JSON200 == nil {
		log.Fatal(err, string(resolved.Body))
	}
	skill, err := resolved.JSON200.AsSkillPackage()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("resolved", skill.SkillId)
	stream, err := c.PostApiV1Analyze(ctx, nil, Analysis{
		Query: new("How many devices are in each site?"), Target: "H",
		Context: `{"devices": [{"name": "sw1", "site": "Oslo"}, {"name": "sw2", "site": "Bergen"}]}`,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()
	if _, err := io.Copy(os.Stdout, stream.Body); err != nil {
		log.Fatal(err)
	}
}
