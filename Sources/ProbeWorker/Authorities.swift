internal import CCurl
internal import Glibc
internal import LinuxIO

/// The certificates of the system's store, read while files may still be read. Their memory is never moved.
final class Authorities {
  let bytes: UnsafeRawBufferPointer
  let count: Int

  /// `nil`: without a file no certificate is trusted, and every probe without a pin reports that.
  init(_ path: String?) {
    let read = path.flatMap { try? TextFile.read($0, limit: 1 << 24) } ?? []
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, read.count), alignment: 1)
    copy.copyBytes(from: read)
    bytes = UnsafeRawBufferPointer(copy)
    count = read.count
  }

  deinit { bytes.deallocate() }
}

/// Initialises libcurl, and finds the files that it would read later.
enum CurlLibrary {
  /// Throws if it cannot be used; returns the certificates that it trusts.
  static func begin() throws(SystemError) -> Authorities {
    guard curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK else { throw SystemError(code: ENOMEM, operation: "begin libcurl") }
    // Other TLS libraries check a pin only if they check the certificate too (docs/decisions/0006).
    guard roamward_curl_tls().map({ String(cString: $0).hasPrefix("OpenSSL/") }) == true else {
      throw SystemError(code: ENOTSUP, operation: "use a libcurl without OpenSSL (cure: apt install libcurl4)")
    }
    guard let easy = curl_easy_init() else { throw SystemError(code: ENOMEM, operation: "begin libcurl") }
    defer { curl_easy_cleanup(easy) }
    return Authorities(roamward_curl_authorities(easy).map { String(cString: $0) })
  }
}
