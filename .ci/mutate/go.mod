module github.com/headway-go/headway/.ci/mutate

go 1.25.0
