module netaminity/peer

go 1.25
