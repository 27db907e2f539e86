package schemas

// QuotaQuery requests what a tenant stores, and its limits.
type QuotaQuery struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope"`
}

func (q *QuotaQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }

// Quota is what a tenant stores, and its limits.
type Quota struct {
	Count    int64 `json:"count" doc:"number of records or tags"`
	Bytes    int64 `json:"bytes" doc:"size of their stored messages, for records with delete markers and 256 bytes for each list entry"`
	MaxCount int64 `json:"max_count,omitzero" doc:"absent: unlimited"`
	MaxBytes int64 `json:"max_bytes,omitzero" doc:"the smaller one of the quota and 80 % of the storage of the bucket; absent: unlimited"`
}
