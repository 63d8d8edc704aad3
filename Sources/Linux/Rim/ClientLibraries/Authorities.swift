internal import CCurl
internal import Glibc
package import LinuxIO

/// Certificates of authorities (PEM) in memory: a confined process can read no file. libcurl keeps the pointer, so the memory is never
/// moved.
package final class Authorities {
  let bytes: UnsafeRawBufferPointer

  /// Empty: no certificate is trusted.
  package init(_ text: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.count), alignment: 1)
    copy.copyBytes(from: text)
    bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(copy)[..<text.count])
  }

  deinit { bytes.deallocate() }

  /// Initialises libcurl, once for the process, and reads the certificates that it trusts, which it would read later. Throws if libcurl
  /// cannot be used; without a file none is trusted.
  package static func ofSystem() throws(SystemError) -> Authorities {
    guard curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK else { throw SystemError(code: ENOMEM, operation: "begin libcurl") }
    // Other TLS libraries check a pin only if they check the certificate too (docs/decisions/0006).
    guard roamward_curl_tls().map({ String(cString: $0).hasPrefix("OpenSSL/") }) == true else {
      throw SystemError(code: ENOTSUP, operation: "use a libcurl without OpenSSL (cure: apt install libcurl4)")
    }
    guard let easy = curl_easy_init() else { throw SystemError(code: ENOMEM, operation: "begin libcurl") }
    defer { curl_easy_cleanup(easy) }
    let path = roamward_curl_authorities(easy).map { String(cString: $0) }
    return Authorities(path.flatMap { try? TextFile.read($0, limit: 1 << 24) } ?? [])
  }
}
