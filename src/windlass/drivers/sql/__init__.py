"""What the SQL stores share: schema, migrations, named queries, statements made from row types."""
