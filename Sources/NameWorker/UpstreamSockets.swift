internal import CDatagrams
internal import CLinux
internal import LinuxIO

/// The sockets for questions to name servers, by their numbers. They are watched by a descriptor of their own: it is readable while one of
/// them has an answer, and tells which without waiting.
struct UpstreamSockets {
  let poller: FileDescriptor
  private var files: [UInt16: FileDescriptor] = [:]

  init() throws(SystemError) {
    let number = clinux_poller()
    guard number >= 0 else { throw .last("epoll_create1") }
    poller = FileDescriptor(owning: number)
  }

  var count: Int { files.count }

  subscript(number: UInt16) -> FileDescriptor? { files[number] }

  mutating func add(_ file: FileDescriptor, _ number: UInt16) {
    guard cdatagrams_watch(poller.number, file.number, UInt32(number)) == 0 else { return }
    files[number] = file
  }

  /// Closes all others. They are watched no more, also if the agent has kept them open.
  mutating func keep(_ numbers: Set<UInt16>) {
    for (number, file) in files where !numbers.contains(number) {
      clinux_poller_remove(poller.number, file.number)
      files[number] = nil
    }
  }

  /// Those that have answers now, at most 64.
  func ready() -> [(number: UInt16, file: FileDescriptor)] {
    var numbers = [UInt32](repeating: 0, count: Int(CDATAGRAMS_BATCH))
    let count = Int(cdatagrams_ready(poller.number, &numbers))
    return numbers.prefix(count).compactMap { number in
      let number = UInt16(truncatingIfNeeded: number)
      return files[number].map { (number, $0) }
    }
  }
}
