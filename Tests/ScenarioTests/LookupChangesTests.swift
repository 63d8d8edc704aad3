import Glibc
import Testing

/// These promises hold while networks, tunnels and processes come and go under two hundred questions a second:
///
/// * A name of a watched tunnel (`connect-always`) is never asked outside. Every other name is asked at the server that `plan` shows.
/// * Each name is answered within five seconds. A program may repeat its question, and does so after a failure.
///
/// There are three physical limits, which no name server can remove (docs/security-kill-switch.md):
///
/// * Without a network no server answers, and a tunnel that a person keeps down answers no name: the five seconds begin at the end of that.
/// * With the agent, `roamward-names` ends. From `kill -9` until the next agent runs no name is answered: the five seconds begin there.
///   No question leaves meanwhile: resolv.conf names no other server, and the redirect of `names: capture` stays.
/// * Other programs write resolv.conf too. A program that reads it before the agent has replaced it asks the network itself. Such a
///   question does not count if the program says that it asked that server. With `names: capture` there are none.
extension LookupScenes {
  enum Way: String, CaseIterable, CustomTestStringConvertible {
    case file, capture
    var testDescription: String { rawValue }
  }

  /// Sixteen changes, or as many as CHANGES says.
  @Test(
    "while everything changes and dies under two hundred questions a second, no name of a watched tunnel is asked outside, each other one where the plan says, and each is answered in five seconds",
    arguments: Way.allCases)
  func changes(_ way: Way) throws {
    let count = getenv("CHANGES").flatMap { Int(String(cString: $0)) } ?? 16
    let keys = way == .capture ? ", when-down: refuse, names: capture }" : " }"
    let scene = try Scene(
      [
        "50-corp.yaml": watchedCorp.with("idle: 20s", "idle: 10m").with("lab.example] }\n", "lab.example]\(keys)\n"),
        "10-site.yaml": site, "90-vault.yaml": vault,
      ], words: ["names.bash", "capture.bash", "lookups.bash"])
    let seen = try scene.play("Lookup/changes", with: ["CHANGES": count, "WAY": way.rawValue])
    let lines = seen.lines.filter { !$0.contains("by programs themselves") }
    #expect(Array(lines.prefix(7)) == ["[seen]"] + planned, "\(seen.lines)")
    #expect(lines.last == "[at home, of other stages: 0]", "\(seen.lines)")
    let figures = lines.filter { $0.contains(" asked=") }
    #expect(figures.count == 7, "\(seen.lines)")
    for line in figures {
      let numbers = line.split(separator: " ").dropFirst().compactMap { $0.split(separator: "=").last.flatMap { Int($0) } }
      #expect(numbers.count == 5 && numbers[0] > 2 * count && numbers[1...3].allSatisfy { $0 == 0 }, "\(line) of \(seen.lines)")
    }
    print("Look-ups by \(way): \(count) changes: \(figures.joined(separator: "; ")); \(seen.lines.last ?? "")")
  }
}

/// The answers of `roamward dns` for each kind of name, as far as they say which server is asked.
private let planned = [
  "name.corp.example sent by roamward-names (127.82.0.53) to 10.77.0.1 of corp, because names in corp.example start corp, and wait until it is connected",
  "name.lab.example sent by roamward-names (127.82.0.53) to 198.51.100.1 of the network on wlan0, because names in lab.example start corp if these servers do not resolve them",
  "name.public.corp.example sent by roamward-names (127.82.0.53) to 198.51.100.1 of the network on wlan0, because names in public.corp.example start no tunnel",
  "name.site.example sent by roamward-names (127.82.0.53) to 10.88.0.1 of site, because the servers of site answer for site.example",
  "name.vault.example sent by roamward-names (127.82.0.53) to 10.99.0.1 of vault, because the servers of vault answer for vault.example",
  "name.other.example sent by roamward-names (127.82.0.53) to 198.51.100.1 of the network on wlan0, because no tunnel answers for it",
]

/// A tunnel that is up everywhere, with names of its own.
private let site = """
  version: 1
  tunnels:
    site:
      provider: { wireguard: { config: site.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.88.0.0/16] }
      dns: { servers: [10.88.0.1], match-domains: [site.example] }

  """

/// One whose gateway never answers: its names are refused.
private let vault = """
  version: 1
  tunnels:
    vault:
      provider: { wireguard: { config: vault.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.99.0.0/16] }
      dns: { servers: [10.99.0.1], match-domains: [vault.example], when-down: refuse }

  """
