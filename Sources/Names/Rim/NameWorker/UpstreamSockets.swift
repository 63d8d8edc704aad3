internal import CDatagrams
internal import CLinux
internal import LinuxIO

/// The sockets for questions to name servers, by their numbers. They are watched by a descriptor of their own: it is readable while one of
/// them has an answer, and tells which without waiting.
struct UpstreamSockets {
  let poller: FileDescriptor
  private var files: [UInt16: FileDescriptor] = [:]
  /// Room for those that are ready: the number above the descriptor.
  private var found = [UInt64](repeating: 0, count: Int(CDATAGRAMS_BATCH))
  private(set) var readyCount = 0

  init() throws(SystemError) {
    let number = clinux_poller()
    guard number >= 0 else { throw .last("epoll_create1") }
    poller = FileDescriptor(owning: number)
  }

  var count: Int { files.count }

  subscript(number: UInt16) -> FileDescriptor? { files[number] }

  mutating func add(_ file: FileDescriptor, _ number: UInt16) {
    guard cdatagrams_watch(poller.number, file.number, number) == 0 else { return }
    files[number] = file
  }

  /// Closes all others. They are watched no more, also if the agent has kept them open.
  mutating func keep(_ numbers: Set<UInt16>) {
    for (number, file) in files where !numbers.contains(number) {
      clinux_poller_remove(poller.number, file.number)
      files[number] = nil
    }
  }

  /// Looks for those that have answers now, at most 64.
  mutating func findReady() { readyCount = Int(cdatagrams_ready(poller.number, &found)) }

  /// One that `findReady` found. It is valid until a socket is closed.
  func ready(_ place: Int) -> (number: UInt16, descriptor: Int32) {
    (UInt16(truncatingIfNeeded: found[place] >> 32), Int32(truncatingIfNeeded: found[place]))
  }
}
