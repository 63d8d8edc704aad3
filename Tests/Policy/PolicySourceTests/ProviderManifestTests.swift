import Glibc
import JSON
import LinuxIO
import PolicySource
import RoamwardCore
import SeededRandom
import Testing

/// Manifests of providers, and options by their schemas: each error has its place and its cure.
@Suite struct ProviderManifestTests {
  static let manifest = """
    name: sample
    about: A sample.
    program: /usr/lib/roamward/providers/sample
    user: roamward
    needs: [device, udp]
    options:
      type: object
      required: [server]
      properties:
        server: { type: string, format: endpoint, description: "The server, HOST:PORT." }
        mode: { type: string, enum: [fast, safe], default: safe }
        routes: { type: array, items: { type: string, format: prefix }, maxItems: 2 }
        retries: { type: integer, minimum: 1, maximum: 9 }
        ratio: { type: number, minimum: 0 }
        verbose: { type: boolean }
        note: { type: string, maxLength: 5 }
        inner: { type: object, properties: { domain: { type: string, format: domain } }, additionalProperties: true }
    """

  static func read(_ text: String) -> (manifest: ProviderManifest?, problems: [String]) {
    let (manifest, diagnostics) = ProviderManifest.read(Array(text.utf8), file: "m.yaml")
    return (manifest, diagnostics.map { "\($0.location.line):\($0.location.column): \($0.message)" })
  }

  func options(_ text: String) throws -> (value: String?, problems: [String]) {
    let manifest = try #require(Self.read(Self.manifest).manifest)
    let (value, diagnostics) = manifest.readOptions(Array(text.utf8), file: "o.yaml")
    return (value?.text(), diagnostics.map { "\($0.location.line):\($0.location.column): \($0.message)" })
  }

  @Test("the example's manifest is one") func example() throws {
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    for name in Folder.names(in: "\(root)/examples/providers", withPrefix: "") {
      let bytes = try TextFile.read("\(root)/examples/providers/\(name)/provider.yaml")
      let (manifest, diagnostics) = ProviderManifest.read(bytes, file: name)
      #expect(manifest?.name == name && manifest?.isInsecure == true && diagnostics.isEmpty, "\(diagnostics)")
    }
  }

  @Test("a manifest has its values") func values() throws {
    let (found, problems) = Self.read(Self.manifest)
    let manifest = try #require(found, "\(problems)")
    #expect(manifest.name == "sample" && manifest.user == "roamward" && manifest.needs == [.device, .udp] && !manifest.isInsecure)
    #expect(manifest.capability == nil && manifest.about == "A sample.")
    guard case .object(let properties, allowsOthers: false) = manifest.options.kind else {
      Issue.record("\(manifest.options)")
      return
    }
    #expect(properties.map(\.name) == ["server", "mode", "routes", "retries", "ratio", "verbose", "note", "inner"])
    #expect(properties[0].isRequired && !properties[1].isRequired && properties[1].schema.standard == "safe")
  }

  @Test(
    "errors of a manifest have line and column",
    arguments: [
      ("user: roamward", "user: root", "4:7: expected the name of a user other than root, found \"root\""),
      ("user: roamward", "user: 0", "4:7: expected the name of a user other than root, found \"0\""),
      ("/usr/lib/roamward", "lib/../x", "3:10: expected an absolute path, found \"lib/../x/providers/sample\""),
      (
        "name: sample", "name: Sample",
        "1:7: expected a small letter, then small letters, digits and `-`, 64 bytes at most, found \"Sample\""
      ),
      ("[device, udp]", "[device, raw]", "5:17: expected device, xfrm, udp, tcp, sockets, resolve or ask, found \"raw\""),
      ("[device, udp]", "[device, xfrm]", "1:1: a provider has one link"),
      ("maxLength: 5", "pattern: x", "16:27: unknown key \"pattern\" in an option's schema"),
      ("format: domain", "format: email", "17:74: expected address, prefix, interface-address, domain, endpoint or url, found \"email\""),
      ("required: [server]", "required: [server, port]", "8:3: \"port\" is required, and no property"),
      ("minimum: 1, maximum: 9", "minimum: 9, maximum: 1", "13:14: no value is allowed: 9 is more than 1"),
      ("default: safe", "default: slow", "11:56: expected fast or safe, found \"slow\""),
      ("note:", "password:", "16:5: \"password\" looks like a secret, and a policy never holds one"),
      ("user: roamward", "user: roamward\ncolour: red", "5:1: unknown key \"colour\" in a provider's manifest"),
      ("about: A sample.\n", "", "1:1: `about` is missing in a provider's manifest"),
    ])
  func errors(old: String, new: String, problem: String) throws {
    let place = try #require(Self.manifest.firstRange(of: old))
    let (manifest, problems) = Self.read(Self.manifest.replacingCharacters(in: place, with: new))
    #expect(problems == [problem] && manifest == nil)
  }

  @Test("options are read by their schema, with defaults") func good() throws {
    #expect(try options("server: vpn.example:443\n") == (#"{"server":"vpn.example:443","mode":"safe"}"#, []))
    let all = """
      { "server": "192.0.2.1:443", "mode": "fast", "routes": ["10.0.0.0/8"], "retries": 3, "ratio": 0.5, "verbose": true,
        "note": "no", "inner": { "domain": "Example.org", "depth": 3 } }
      """
    #expect(
      try options(all) == (
        #"{"server":"192.0.2.1:443","mode":"fast","routes":["10.0.0.0/8"],"retries":3,"ratio":0.5,"verbose":true,"note":"no","#
          + #""inner":{"domain":"example.org","depth":3}}"#, []
      ))
  }

  @Test(
    "wrong options have line and column",
    arguments: [
      ("mode: fast", "1:1: `server` is missing in the options of `sample`"),
      ("server: x", "1:9: expected HOST:PORT, such as vpn.example:443, found \"x\""),
      ("server: a.example:1\nmode: slow", "2:7: expected fast or safe, found \"slow\""),
      ("server: a.example:1\nroutes: [10.0.0.0/8, x]", "2:22: expected an address or prefix such as 10.0.0.0/8 or fd00::/8, found \"x\""),
      ("server: a.example:1\nroutes: [10.0.0.0/8, 10.0.0.0/9, 10.0.0.0/10]", "2:9: this list has 3 entries; at most 2 are allowed"),
      ("server: a.example:1\nretries: 10", "2:10: expected a number from 1 to 9, found \"10\""),
      ("server: a.example:1\nretries: 1.5", "2:10: expected an integer, found \"1.5\""),
      ("server: a.example:1\nverbose: 3", "2:10: expected true or false, found \"3\""),
      ("server: a.example:1\nnote: abcdef", "2:7: this text has 6 characters; allowed are 0 to 5"),
      ("server: a.example:1\nsevrer: b", "2:1: unknown key \"sevrer\" in the options of `sample`"),
      ("[]", "1:1: expected the keys of the options of `sample`, found a list"),
    ])
  func bad(text: String, problem: String) throws {
    let (value, problems) = try options(text)
    #expect(problems == [problem] && value == nil)
  }

  @Test("any bytes give a manifest or errors, and any options a value or errors", arguments: [UInt64(4), 5])
  func mutations(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let manifest = try #require(Self.read(Self.manifest).manifest)
    for round in 0..<1500 {
      var bytes = Array((round % 2 == 0 ? Self.manifest : "server: a.example:1\nroutes: [10.0.0.0/8]\nretries: 3\n").utf8)
      for _ in 0..<(1 + random.next() % 4) {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: place)
        default:
          bytes.insert(
            contentsOf: Array(random.pick(["- ", "{", "]", "999999999999999999999", "type: array", ": ", "\n"]).utf8), at: place)
        }
      }
      let (found, problems) = ProviderManifest.read(bytes, file: "m.yaml")
      #expect((found == nil) == problems.contains { $0.severity == .error }, "seed \(seed), round \(round)")
      let (value, faults) = manifest.readOptions(bytes, file: "o.yaml")
      #expect((value == nil) == faults.contains { $0.severity == .error }, "seed \(seed), round \(round)")
    }
  }
}

extension String {
  fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
    self[..<range.lowerBound] + text + self[range.upperBound...]
  }
}
