import NetworkTypes
import PolicyFiles
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyAuthoring

/// The policy that `roamward login` writes, its name, and its changes.
@Suite struct GatewayPolicyTests {
  @Test(
    "a tunnel is named after the first word of the gateway's name that says something",
    arguments: [
      ("vpn.example.com", "example"), ("vpn1.corp.example", "corp"), ("gate-2.vpn.firma.example", "firma"),
      ("Office.Example.com", "office"),
      ("vpn.com", "vpn"), ("gateway", "gateway"), ("192.0.2.1", "vpn"), ("2001:db8::1", "vpn"),
      ("a-very-long-company-name.example", "a-very-long-com"), ("x_y.example", "xy"),
    ])
  func names(host: String, name: String) throws {
    let endpoint = try #require(Endpoint(host.contains(":") ? "[\(host)]:1" : "\(host):1"))
    #expect(GatewayPolicy.name(for: endpoint.host) { _ in false } == name)
  }

  @Test("a name that is taken gets a number, and stays short enough for a link") func numbers() throws {
    let host = try #require(Endpoint("a-very-long-company-name.example:1")).host
    var taken: Set<String> = []
    for _ in 0..<120 {
      let name = GatewayPolicy.name(for: host, isTaken: taken.contains)
      #expect(!taken.contains(name) && name.utf8.count <= 15 && name.hasPrefix("a-very-long"))
      taken.insert(name)
    }
    #expect(taken.contains("a-very-long-c-2") && taken.contains("a-very-long-120"))
  }

  private func tunnel(_ user: String? = "alice") throws -> GatewayTunnel {
    GatewayTunnel(
      tunnel: "corp", path: "/p/corp.yaml", server: try #require(Endpoint("vpn.example.com:51820")), pin: "sha256//OLD=", username: user)
  }

  private func text(_ file: OutputFile?) -> String { String(decoding: file?.bytes ?? [], as: UTF8.self) }

  @Test("the rule for trusted networks is there where a policy has them, and a comment otherwise") func trusted() throws {
    let new = GatewayPolicy(try tunnel(), trusted: .new)
    #expect(new.files.map(\.name) == ["trusted-networks.yaml", "corp.yaml"] && new.files.allSatisfy { !$0.isSecret })
    let present = GatewayPolicy(try tunnel(), trusted: .present)
    #expect(present.files == [new.files[1]])
    let none = text(GatewayPolicy(try tunnel(), trusted: .none).files.first)
    #expect(text(new.files[1]).contains("\n        - name: trusted network\n") && none.contains("\n        # - name: trusted network\n"))
  }

  @Test("a user's name is a text of YAML, whatever it has", arguments: ["a: b", "yes", "0123", "#x", "ü \"q\" \\", "- x", "a'b", "null"])
  func quoted(user: String) throws {
    let policy = text(GatewayPolicy(try tunnel(user), trusted: .none).files.first)
    let line = try #require(policy.split(separator: "\n").first { $0.contains("username: ") })
    #expect(line == "          username: \(PolicyPrinter.key(user))" && PolicyPrinter.key(user).hasPrefix("\""))
    #expect(!text(GatewayPolicy(try tunnel(nil), trusted: .none).files.first).contains("username"))
  }

  @Test(
    "a change of pin and user name leaves all other lines as they are",
    arguments: [
      "username: alice\n", "username: \"alice\" # me\n", "{ pin: \"sha256//OLD=\", username: 'alice' }\n", "username: alice, x: y\n",
    ])
  func changed(line: String) throws {
    let before = "# sha256//OLD= of alice\n\(line)pin: sha256//OLD=\n# username: alicex\n"
    let after = try tunnel().changed(before, pin: "sha256//NEW=", username: "bob")
    #expect(after.contains("username: bob") && !after.contains("OLD") && after.contains("# username: alicex\n"))
    #expect(after.contains("of alice\n") && after.split(separator: "\n").count == before.split(separator: "\n").count)
    #expect(try tunnel().changed(before, pin: "sha256//OLD=", username: nil) == before)
  }

  @Test("what is not written as it is cannot be changed") func unchangeable() throws {
    #expect(throws: TextChangeFailure.self) { try tunnel().changed("pin: *anchor\n", pin: "sha256//NEW=", username: nil) }
    #expect(throws: TextChangeFailure.self) { try tunnel().changed("username: al\\u0069ce\n", pin: "sha256//OLD=", username: "bob") }
    #expect(throws: TextChangeFailure.self) {
      try tunnel().changed("username: alice\nusername: alice\n", pin: "sha256//OLD=", username: "bob")
    }
    #expect(throws: TextChangeFailure.self) { try tunnel(nil).changed("x\n", pin: "sha256//OLD=", username: "bob") }
  }
}
