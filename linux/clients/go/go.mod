module example.org/duetime/linux/clients/go

go 1.22
