import JSON
import SchemaCheck
import Testing

private struct Sample: Codable, Hashable {
  enum Word: String, JSONEnum { case one, two }
  enum Choice: Codable, Hashable {
    case none
    case some(name: String, Int?)
  }

  var flag = true
  var small: UInt8 = 200
  var large = Int64.min
  var number = 1.5
  var text = "a"
  var nothing: String?
  var noNumber: Int?
  var noWord: Word?
  var word = Word.two
  var list = [1, 2]
  var lists = [["a"], []]
  var optionals: [String?] = ["a", nil]
  var names = ["b": 1, "a": 2]
  var choice = Choice.some(name: "n", nil)
  var value: JSON = ["any": [1, .null]]

  enum CodingKeys: String, DescribedKey, CaseIterable {
    case flag, small, large, number, text, nothing
    case noNumber = "no-number"
    case noWord = "no-word"
    case word, list, lists, optionals, names, choice, value

    var about: String { "About \(rawValue)." }
  }
}

/// A type with every kind of member that a schema can be made of.
private struct Described: Codable {
  var text: String
  var maybe: Int?
  var word: Sample.Word
  var maybeWord: Sample.Word?
  var list: [Bool]
  var names: [String: Double]
  var inner: Inner?

  struct Inner: Codable { var number: Int }
}

@Suite struct CodingTests {
  @Test("a value survives, absent ones are null, and a dictionary has an order") func roundTrip() throws {
    let json = JSON(encoding: Sample())
    #expect(try json.decoded() == Sample())
    #expect(try JSON(parsing: json.text().utf8).decoded() == Sample())
    #expect(
      json.text()
        == #"{"flag":true,"small":200,"large":-9223372036854775808,"number":1.5,"text":"a","nothing":null,"no-number":null,"no-word":null,"word":"two","list":[1,2],"lists":[["a"],[]],"optionals":["a",null],"names":{"a":2,"b":1},"choice":{"some":{"name":"n","_1":null}},"value":{"any":[1,null]}}"#
    )
    #expect(json.members?.map(\.key) == Sample.CodingKeys.allCases.map(\.rawValue))
  }

  @Test(
    "what is not as declared is refused with its place",
    arguments: [
      ("small", 256, "small: expected a whole number"), ("small", 1.5, "small: expected a whole number"),
      ("flag", 1, "flag: expected true or false"),
      ("text", .null, "text: expected a text"), ("list", [1, "a"], "list[1]: expected a whole number"),
      ("list", [:], "list: expected a list"),
      ("names", [["a": 1]], "names: expected an object"), ("choice", ["some": ["name": 1]], "choice.some.name: expected a text"),
    ] as [(String, JSON, String)])
  func mismatch(key: String, value: JSON, message: String) throws {
    let members = try #require(JSON(encoding: Sample()).members)
    let json = JSON.object(members.map { $0.key == key ? .init(key: key, value: value) : $0 })
    let error = #expect(throws: JSONMismatch.self) { try json.decoded(as: Sample.self) }
    #expect(error?.description == message)
  }

  @Test("an absent member is told; an absent optional one is nothing, and an unknown one is passed over") func absent() throws {
    let members = try #require(JSON(encoding: Sample()).members)
    let error = #expect(throws: JSONMismatch.self) { try JSON.object(members.filter { $0.key != "text" }).decoded(as: Sample.self) }
    #expect(error?.description == "there is no `text`")
    let others = members.filter { $0.key != "nothing" } + [.init(key: "new", value: 1)]
    #expect(try JSON.object(others).decoded() == Sample())
  }

  @Test("a schema is made of the declaration, and its check finds each way to break it") func schema() throws {
    let schema = try JSON.schema(of: Described.self)
    #expect(
      schema.text()
        == #"{"type":"object","properties":{"text":{"type":"string"},"maybe":{"type":["integer","null"]},"word":{"enum":["one","two"]},"maybeWord":{"enum":["one","two",null]},"list":{"type":"array","items":{"type":"boolean"}},"names":{"type":"object","additionalProperties":{"type":"number"}},"inner":{"type":["object","null"],"properties":{"number":{"type":"integer"}},"required":["number"]}},"required":["text","maybe","word","maybeWord","list","names","inner"]}"#
    )
    let good: JSON = [
      "text": "", "maybe": .null, "word": "one", "maybeWord": .null, "list": [true], "names": ["a": 1.5], "inner": ["number": 1],
    ]
    #expect(violations(of: schema, in: good) == [])
    let breaks: [(String, JSON, String)] = [
      ("text", 1, "text: not of type string"), ("maybe", 1.5, "maybe: not of type integer or null"),
      ("word", "three", "word: \"three\" is not listed"),
      ("list", [1], "list[0]: not of type boolean"), ("names", ["a": "b"], "names.a: not of type number"),
      ("inner", [:], "inner: `number` is missing"),
      ("inner", ["number": 1, "x": 1], "inner.x: not in the schema"), ("more", 1, "more: not in the schema"),
    ]
    for (key, value, message) in breaks {
      let members = (good.members ?? []).filter { $0.key != key } + [.init(key: key, value: value)]
      #expect(violations(of: schema, in: .object(members)) == [message])
    }
    #expect(violations(of: ["anyOf": [["const": 1], ["type": "string"]]], in: 2) == [": none of the alternatives"])
    #expect(violations(of: ["anyOf": [["const": 1], ["type": "string"]]], in: 1) == [])
    #expect(violations(of: ["unheard-of": 1], in: 1) == [": `unheard-of` is not checked here"])
    #expect(violations(of: ["pattern": #"^\d\.$"#], in: "1.") == [] && violations(of: ["pattern": #"^\d\.$"#], in: "1,") != [])
  }
}
