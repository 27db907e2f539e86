package schemas

// ProtectedResource tells clients of OAuth which servers issue tokens for this one (RFC 9728).
type ProtectedResource struct {
	Resource             string   `json:"resource" doc:"URL of the protected resource"`
	ResourceName         string   `json:"resource_name"`
	AuthorizationServers []string `json:"authorization_servers" doc:"issuers of accepted tokens"`
	BearerMethods        []string `json:"bearer_methods_supported" doc:"header: tokens are accepted in Authorization only"`
}
