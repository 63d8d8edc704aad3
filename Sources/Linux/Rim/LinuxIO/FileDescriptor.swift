internal import Glibc

/// An open descriptor, closed when the last reference is released.
package final class FileDescriptor: Equatable, Sendable {
  package let number: Int32

  /// Whether both are the same object: another descriptor of the file is another one.
  package static func == (a: FileDescriptor, b: FileDescriptor) -> Bool { a === b }

  /// Takes ownership.
  package init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// The kernel's error if it would not open as many descriptors as an observation needs at once; `nil` if it would.
  package static func shortage(of count: Int = 8) -> SystemError? {
    var spare: [FileDescriptor] = []
    for _ in 0..<count {
      let number = spare.first.map { fcntl($0.number, F_DUPFD_CLOEXEC, 0) } ?? open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard number >= 0 else {
        let error = SystemError.last("open a file")
        return error.isShortage ? error : nil
      }
      spare.append(FileDescriptor(owning: number))
    }
    return nil
  }

  /// Reads the available data, up to `limit` bytes. `nil` if none is available now; empty at the end.
  package func read(atMost limit: Int = 65_536) throws(SystemError) -> [UInt8]? {
    var count = 0
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
      repeat { count = Glibc.read(number, buffer.baseAddress, limit) } while count < 0 && errno == EINTR
      if count < 0 { failure = .last("read") }
      initialized = max(count, 0)
    }
    guard let failure else { return bytes }
    if failure.code == EAGAIN { return nil }
    throw failure
  }

  /// Writes a prefix of the bytes and returns its length; 0 if the other side accepts none now.
  package func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
    let count = bytes.withUnsafeBytes { buffer in
      var count = 0
      repeat { count = send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) } while count < 0 && errno == EINTR
      if count < 0, errno == ENOTSOCK { count = Glibc.write(number, buffer.baseAddress, buffer.count) }
      return count
    }
    if count >= 0 { return count }
    if errno == EAGAIN { return 0 }
    throw .last("write")
  }
}
