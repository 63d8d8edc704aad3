import Glibc
import NetworkTypes

/// Adds so many domains to the name server's list, as the process does, and looks names up in it, of which every other one lies below a
/// domain of it. Prints the nanoseconds of CPU time for a name, the median of 21 rounds, and by how many megabytes the process has grown.
func lookUp(among count: Int) throws {
  let names = 200_000
  let before = residentBytes()
  var map = DomainMap()
  for i in 0..<count { if let domain = DomainName(domain(i)) { map.add(domain, UInt16(i % 4)) } }
  let growth = residentBytes() - before
  guard map.count == count else { throw Failure(description: "there are \(map.count) different domains") }
  let asked = (0..<names).map { Array(($0 % 2 == 0 ? "www.\(domain($0 &* 5 % count))" : "www.site\($0).shop.example").utf8) }
  var rounds: [Double] = []
  for _ in 0..<21 {
    var found = 0
    let began = processorNanoseconds()
    for name in asked where map.number(for: name.span) != nil { found += 1 }
    rounds.append((processorNanoseconds() - began) / Double(names))
    guard found == names / 2 else { throw Failure(description: "\(found) names are found") }
  }
  rounds.sort()
  print(Int(rounds[rounds.count / 2].rounded()), (Double(growth) / 100_000).rounded() / 10)
}

/// Different names of four labels.
private func domain(_ i: Int) -> String { "host\(i &* 7919 % 10_000_019).ads\(i % 977).tracker.example" }

private func processorNanoseconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1_000_000_000 + Double(time.tv_nsec)
}

/// Of proc_pid_statm(5), the second field.
private func residentBytes() -> Int {
  guard let stream = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(stream) }
  var pages = [UInt8](repeating: 0, count: 256)
  let count = fread(&pages, 1, pages.count, stream)
  let fields = String(decoding: pages.prefix(count), as: UTF8.self).split(separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
}
