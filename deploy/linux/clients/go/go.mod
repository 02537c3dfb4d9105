module example.org/duetime/deploy/linux/clients/go

go 1.22
