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

// TenantQuery requests the tenants that store records.
type TenantQuery struct {
	Prefix string `json:"prefix,omitzero" doc:"only tenants whose name begins with this text"`
	Limit  *int   `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor string `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

// TenantList is a page of tenants, ordered by name.
type TenantList struct {
	Tenants    []TenantRecords `json:"tenants"`
	NextCursor *string         `json:"next_cursor" doc:"null on the last page"`
}

// TenantRecords is a tenant that stores records.
type TenantRecords struct {
	TenantID string `json:"tenant_id"`
	Count    int64  `json:"count" doc:"number of records"`
}
