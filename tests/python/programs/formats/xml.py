# ElementTree: reading, XPath, building, namespaces, errors.
import xml.etree.ElementTree as ET

root = ET.fromstring(tools.filesystem.read_file(path="/data/feed.xml"))
for entry in root.iter("entry"):
    print(entry.get("id"), entry.findtext("title"), [t.text for t in entry.findall("tag")])
print(root.find("entry[@id='2']/title").text, len(root.findall(".//tag")), root.find("nope"))
report = ET.Element("report", version="1")
for entry in root:
    item = ET.SubElement(report, "item", {"ref": entry.attrib["id"]})
    item.text = entry.findtext("title").upper()
ET.indent(report)
print(ET.tostring(report, encoding="unicode"))
names = {"a": "urn:x"}
print(ET.fromstring('<r xmlns="urn:x"><c>1</c></r>').find("a:c", names).text)
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as e:
    print("ParseError", e.position)
