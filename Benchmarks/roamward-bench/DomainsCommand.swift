import ArgumentParser
import Glibc
import NetworkTypes

/// One name against very many domains: what a look-up costs, and what the list takes in memory.
struct DomainsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "domains", abstract: "Match names against many domains.")

  @Option(help: "How many domains.") var domains = 1_000_000
  @Option(help: "How many names are asked each time; every other one lies below a domain of the list.") var names = 200_000
  @Option(help: "How often each is measured.") var rounds = 21
  @Flag(name: .customLong("print"), help: "Print the domains, a line each, and do nothing else.") var prints = false
  @Option(help: ArgumentHelp("What a peer takes in memory for the same list, NAME=BYTES; repeatable.", valueName: "peer")) var peer:
    [String] = []

  func run() throws {
    if prints {
      for i in 0..<domains { print(ManyDomains.text(i)) }
      return
    }
    let before = residentBytes()
    var set = DomainSet([DomainName]())
    let building = measure { set = DomainSet(ManyDomains(count: domains)) }
    let naming = measure { for domain in ManyDomains(count: domains) where domain.text.isEmpty { set = DomainSet([domain]) } }
    let taken = residentBytes() - before
    guard set.count == domains else { throw BenchmarkError("there are \(set.count) different domains") }
    let asked = (0..<names).compactMap { i in
      DomainName(i % 2 == 0 ? "www.\(ManyDomains.text(i &* 5 % domains))" : "www.site\(i).shop.example")
    }
    var lookUps = Series()
    for _ in 0..<rounds {
      var hits = 0
      let elapsed = measure { for name in asked where set.contains(name) { hits += 1 } }
      guard hits == (names + 1) / 2 else { throw BenchmarkError("\(hits) names are found") }
      lookUps.values.append(elapsed.cpu * 1_000_000 / Double(names))
    }
    let nanoseconds = lookUps.median
    print(
      Row(
        what: "a name against \(domains.grouped) domains, half of them found", ours: "\(nanoseconds.text(digits: 0)) ns",
        peer: "1000 ns (target)", ratio: nanoseconds / 1000, bar: "1.00", remark: "CPU"))
    let mebibytes = Double(taken) / 1_048_576
    let each = (Double(set.memory) / Double(domains)).text(digits: 0)
    let remark = "\(each) bytes a domain"
    for peer in try peers() {
      print(
        Row(
          what: "  the list in memory", ours: "\(mebibytes.text(digits: 0)) MiB",
          peer: "\((peer.bytes / 1_048_576).text(digits: 0)) MiB \(peer.name)",
          ratio: Double(taken) / peer.bytes, bar: "", remark: remark))
    }
    if peer.isEmpty {
      print(Row(what: "  the list in memory", ours: "\(mebibytes.text(digits: 0)) MiB", peer: "", ratio: .nan, bar: "", remark: remark))
    }
    let making = Row(
      what: "  making it", ours: "\((building.wall - naming.wall).text(digits: 0)) ms", peer: "", ratio: .nan, bar: "",
      remark: "without reading the names")
    print(making)
  }

  private func peers() throws -> [(name: String, bytes: Double)] {
    try peer.map { text in
      let parts = text.split(separator: "=")
      guard parts.count == 2, let bytes = Double(parts[1]) else { throw ValidationError("--peer takes NAME=BYTES, not \(text)") }
      return (String(parts[0]), bytes)
    }
  }
}

/// Different names of four labels, made when asked for: none of them stays in memory.
private struct ManyDomains: RandomAccessCollection {
  let count: Int
  var startIndex: Int { 0 }
  var endIndex: Int { count }

  subscript(i: Int) -> DomainName {
    guard let name = DomainName(Self.text(i)) else { preconditionFailure("a name of letters and digits is one") }
    return name
  }

  static func text(_ i: Int) -> String { "host\(i &* 7919 % 10_000_019).ads\(i % 977).tracker.example" }
}

/// Of proc_pid_statm(5), the second field.
func residentBytes() -> Int {
  guard let stream = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(stream) }
  var pages = [UInt8](repeating: 0, count: 256)
  let count = fread(&pages, 1, pages.count, stream)
  let fields = String(decoding: pages.prefix(count), as: UTF8.self).split(separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
}
