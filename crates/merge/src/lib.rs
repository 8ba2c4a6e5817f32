//! Server-side apply, managed fields and strategic merge: pure functions over JSON trees and schemas.
