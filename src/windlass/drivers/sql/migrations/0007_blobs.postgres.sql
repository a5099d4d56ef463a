create table blobs (
    key text collate "C" primary key,
    mark text not null unique,
    size_bytes bigint not null,
    created_at bigint not null
);
create table blob_pieces (
    mark text not null,
    number bigint not null,
    content bytea not null,
    primary key (mark, number)
);
