import ArgumentParser
import Glibc
import LinuxIO
import ProviderGroups

/// The cost of a control group's mark for each socket that is created in it: the same program in such a group and outside, in turn.
struct SocketsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "sockets", abstract: "Create sockets that a control group marks.")

  @Option(help: "How many sockets are created and closed each time.") var sockets = 100_000
  @Option(help: "How often each is measured.") var rounds = 21
  @Flag(help: .hidden) var measures = false

  func run() throws {
    if measures { return try printTime() }
    let groups = ProviderGroups(note: nil)
    defer { groups.removeUnused() }
    let group = try groups.group(of: "bench")
    defer { groups.end("bench") }
    var (inside, outside, added) = (Series(), Series(), Series())
    for _ in 0..<rounds {
      outside.values.append(try time(in: nil))
      inside.values.append(try time(in: group))
      added.values.append((inside.values.last ?? 0) - (outside.values.last ?? 0))
    }
    let remark = "CPU; \(inside.median.text(digits: 2)) µs in the group, \(outside.median.text(digits: 2)) µs outside"
    print(
      Row(
        what: "a UDP socket in a control group that marks: added time", ours: "\(added.median.text(digits: 2)) µs",
        peer: "1.00 µs (target)",
        ratio: added.median, bar: "1.00", remark: remark))
  }

  /// Microseconds of CPU for each socket, measured by a process of its own.
  private func time(in group: OpenControlGroup?) throws -> Double {
    var template = Array("/tmp/roamward-bench-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw SystemError.last("mkstemp") }
    unlink(template)
    let output = FileDescriptor(owning: descriptor)
    let process = try SpawnedProgram(
      "/proc/self/exe", ["roamward-bench", "sockets", "--measures", "--sockets", "\(sockets)"], environment: [],
      descriptors: [.nothing, .open(output), .inherited], company: .group, group: group?.folder
    ).start()
    var status: Int32 = 0
    guard waitpid(process, &status, 0) == process, status == 0, lseek(descriptor, 0, SEEK_SET) == 0, let text = try output.read(),
      let time = Double(String(decoding: text, as: UTF8.self).filter { $0 != "\n" })
    else { throw BenchmarkError("a measurement failed") }
    return time
  }

  private func printTime() throws {
    // The first ones fill caches.
    try create(sockets / 10)
    let elapsed = try measure { try create(sockets) }
    print(elapsed.cpu * 1000 / Double(sockets))
  }

  private func create(_ count: Int) throws {
    for _ in 0..<count {
      let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      guard descriptor >= 0 else { throw SystemError.last("socket") }
      close(descriptor)
    }
  }
}
