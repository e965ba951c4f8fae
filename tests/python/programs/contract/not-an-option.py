# A value that is not among those the schema lists.
# message: any
await tools.crm.list_deals(stage="closed")
