import Testing

@testable import RoamwardCore

@Suite("Who has asked for a name") struct NameLookupTests {
  @Test("a program by its user and control group; systemd-resolved, which asks for others, by its name") func askers() {
    func words(_ user: UInt32?, _ controlGroup: String? = nil) -> String {
      "\(NameLookup(tunnel: "corp", name: "git.corp.example", asker: user.map { .init(user: $0, controlGroup: controlGroup) }))"
    }
    #expect(words(nil) == "a look-up of git.corp.example")
    #expect(words(1000) == "a look-up of git.corp.example by user 1000")
    #expect(words(1000, "/user.slice/app.scope") == "a look-up of git.corp.example by user 1000 in /user.slice/app.scope")
    #expect(words(101, "/system.slice/systemd-resolved.service") == "a look-up of git.corp.example through systemd-resolved")
    #expect(words(1000, "/user.slice/not-systemd-resolved.service").hasSuffix("by user 1000 in /user.slice/not-systemd-resolved.service"))
  }
}
