import ArgumentParser
import Glibc
import LinuxPlatform
import PolicySource
import RoamwardCore

/// Very many policy files, read again after one of them has changed, as the agent does it: with the last known good set on disk.
struct ReloadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "reload", abstract: "Reload many policies of which one has changed.")

  @Argument(help: "A folder of policies, each with a tunnel; one file is rewritten in each round.") var folder: String
  @Option(help: "A folder for the agent's notes, new.") var state: String
  @Option(help: "How often it is measured.") var rounds = 41

  func run() throws {
    let policies = LastKnownGoodStore(try StateFolder(path: state))
    var first = LoadedPolicies()
    let begin = measure { first = policies.load([folder], isTrial: false) }
    guard !first.hasErrors, let path = first.files.last else { throw BenchmarkError("the policies have errors, or there are none") }
    let whole = try text(of: path)
    var series = Series()
    var wall = Series()
    for round in 0..<rounds {
      try write(whole + "# \(round)\n", to: path)
      var loaded = LoadedPolicies()
      let elapsed = measure { loaded = policies.load([folder], isTrial: false) }
      guard loaded.policies.tunnels.count == first.policies.tunnels.count else { throw BenchmarkError("tunnels are missing") }
      series.values.append(elapsed.cpu)
      wall.values.append(elapsed.wall)
    }
    try write(whole, to: path)
    let what = "\(first.files.count.grouped) policy files, one of them changed: reload"
    let remark = "CPU; \(wall.summary) until it is on disk; the first load \(begin.cpu.text(digits: 0)) ms"
    print(Row(what: what, ours: series.summary, peer: "50 ms (target)", ratio: series.median / 50, bar: "1.00", remark: remark))
  }

  private func text(of path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw BenchmarkError("cannot open \(path)") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, 1 << 20, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  private func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw BenchmarkError("cannot write \(path)") }
    defer { fclose(file) }
    guard fputs(text, file) >= 0 else { throw BenchmarkError("cannot write \(path)") }
  }
}
