package parse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

func TestRefusals(t *testing.T) {
	secondary := parse.Refusal{Status: 403, Text: "secondary rate limit", Wait: time.Minute}
	byField := parse.Refusal{Status: 400, Field: "X-Amzn-Errortype", Text: "ThrottlingException"}
	codes := []string{"ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "TooManyRequestsException", "LimitExceededException"}
	for _, code := range []string{"Throttling", "SlowDown", "RequestThrottled", "BandwidthLimitExceeded", "PriorRequestNotComplete"} {
		codes = append(codes, "<Code>"+code+"</Code>")
	}
	for name, tt := range map[string]struct {
		host   string
		status int
		fields []string
		want   []parse.Refusal
	}{
		"GitHub":             {"api.github.com", 403, []string{"X-RateLimit-Resource: core"}, []parse.Refusal{secondary}},
		"GitHub Enterprise":  {"github.acme.example:8443", 403, []string{"X-RateLimit-Resource: core"}, []parse.Refusal{secondary}},
		"GitHub, 404":        {"api.github.com", 404, []string{"X-RateLimit-Resource: core"}, nil},
		"someone else":       {"api.example", 403, []string{"X-RateLimit-Limit: 5"}, nil},
		"AWS by field":       {"dynamodb.eu-west-1.amazonaws.com:443", 400, []string{"X-Amzn-ErrorType: com.amazon#ThrottlingException:http://x"}, []parse.Refusal{byField}},
		"AWS, another error": {"dynamodb.eu-west-1.amazonaws.com", 400, []string{"X-Amzn-ErrorType: ValidationException"}, nil},
		"not a host of AWS":  {"amazonaws.com.example", 400, []string{"X-Amzn-ErrorType: ThrottlingException"}, nil},
		"Google, a rate":     {"www.googleapis.com", 403, nil, []parse.Refusal{{Status: 403, Text: `"userRateLimitExceeded"`}, {Status: 403, Text: `"rateLimitExceeded"`}}},
		"Google, 404":        {"www.googleapis.com", 404, nil, nil},
		"Azure is busy":      {"x.blob.core.windows.net", 503, []string{"X-Ms-Error-Code: ServerBusy"}, []parse.Refusal{{Status: 503, Field: "X-Ms-Error-Code", Text: "ServerBusy"}}},
		"Azure has failed":   {"x.blob.core.windows.net", 503, []string{"X-Ms-Error-Code: InternalError"}, nil},
		"API Management":     {"acme.azure-api.net", 403, nil, []parse.Refusal{{Status: 403, Text: "Quota will be replenished in"}}},
		"not its status":     {"acme.azure-api.net", 401, nil, nil},
		"not its host":       {"api.example", 403, nil, nil},
		"AWS, 200":           {"s3.amazonaws.com", 200, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var r parse.Reader
			var got []parse.Refusal
			for _, sign := range r.Refusals(tt.host, tt.status, fields(tt.fields...)) {
				if tt.status == 400 && sign.Field == "" {
					assert.Contains(t, codes, sign.Text)
					continue
				}
				got = append(got, sign)
			}
			assert.Equal(t, tt.want, got)
		})
	}
	r := parse.Reader{Vendors: []parse.Vendor{{Name: "acme", Refusals: []parse.Refusal{{Status: 402, Text: "slow down"}}}}}
	assert.Equal(t, []parse.Refusal{{Status: 402, Text: "slow down"}}, r.Refusals("api.example", 402, nil))
	r = parse.Reader{Vendors: []parse.Vendor{{Name: "acme", Sign: "Acme-*", Refusals: []parse.Refusal{{Status: 402, Text: "slow down"}}}}}
	assert.Empty(t, r.Refusals("api.example", 402, fields("X-Acme-Id: 7")))
	assert.Equal(t, []parse.Refusal{{Status: 402, Text: "slow down"}}, r.Refusals("api.example", 402, fields("Acme-Id: 7")))
}
