// control: the modules that exist are found, so that one that is not found was refused
// property: S14
// expect: value [1, "function"]
import { shop } from "./servers";
import { list_customers } from "./servers/shop";
export default async () => [(await shop.list_customers({ page_size: 1 })).items.length, typeof list_customers];
