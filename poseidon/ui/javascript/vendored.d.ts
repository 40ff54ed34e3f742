// Libraries in assets/vendor come minified and without types: what they export may be anything.
declare const anything: any;
export default anything;
export {
  anything as html,
  anything as render,
  anything as sankey,
  anything as useCallback,
  anything as useEffect,
  anything as useErrorBoundary,
  anything as useLayoutEffect,
  anything as useMemo,
  anything as useRef,
  anything as useState,
};
